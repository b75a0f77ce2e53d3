"""Networks of the literature in the Bayesian Interchange Format, as several programs write it."""

# as the repository of bnlearn writes it: bare names, a row for each states of the parents
ASIA = """network unknown {
}
variable asia {
  type discrete [ 2 ] { yes, no };
}
variable tub {
  type discrete [ 2 ] { yes, no };
}
variable smoke {
  type discrete [ 2 ] { yes, no };
}
variable lung {
  type discrete [ 2 ] { yes, no };
}
variable bronc {
  type discrete [ 2 ] { yes, no };
}
variable either {
  type discrete [ 2 ] { yes, no };
}
variable xray {
  type discrete [ 2 ] { yes, no };
}
variable dysp {
  type discrete [ 2 ] { yes, no };
}
probability ( asia ) {
  table 0.01, 0.99;
}
probability ( tub | asia ) {
  (yes) 0.05, 0.95;
  (no) 0.01, 0.99;
}
probability ( smoke ) {
  table 0.5, 0.5;
}
probability ( lung | smoke ) {
  (yes) 0.1, 0.9;
  (no) 0.01, 0.99;
}
probability ( bronc | smoke ) {
  (yes) 0.6, 0.4;
  (no) 0.3, 0.7;
}
probability ( either | lung, tub ) {
  (yes, yes) 1.0, 0.0;
  (no, yes) 1.0, 0.0;
  (yes, no) 1.0, 0.0;
  (no, no) 0.0, 1.0;
}
probability ( xray | either ) {
  (yes) 0.98, 0.02;
  (no) 0.05, 0.95;
}
probability ( dysp | bronc, either ) {
  (yes, yes) 0.9, 0.1;
  (no, yes) 0.7, 0.3;
  (yes, no) 0.8, 0.2;
  (no, no) 0.1, 0.9;
}
"""

# with properties, comments, and names that differ in case
CANCER = """// Korb and Nicholson (2010), section 2.2
network cancer {
  property author = Kevin Korb, and Ann Nicholson ;
}
variable Pollution {
  type discrete [ 2 ] { low, high };
  property position = (1, 2) ;
}
variable Smoker { /* a comment
  over two lines, with a } in it */
  type discrete [ 2 ] { True, False };
}
variable Cancer {
  type discrete [ 2 ] { True, False };
}
variable Xray {
  type discrete [ 2 ] { positive, negative };
}
variable Dyspnoea {
  type discrete [ 2 ] { True, False };
}
probability ( Pollution ) {
  table 0.9, 0.1;
}
probability ( Smoker ) {
  table 0.3, 0.7;
}
probability ( Cancer | Pollution, Smoker ) {
  (low, True) 3e-2, 0.97;
  (high, True) 5E-02, 9.5e-1;
  (low, False) 1.0e-3, .999;
  (high, False) 0.02, 0.98;
}
probability ( Xray | Cancer ) {
  (True) 0.9, 0.1;
  (False) 0.2, 0.8;
}
probability ( Dyspnoea | Cancer ) {
  (True) 0.65, 0.35;
  (False) 0.3, 0.7;
}
"""

# rows in any order
EARTHQUAKE = """network unknown {
}
variable Burglary {
  type discrete [ 2 ] { True, False };
}
variable Earthquake {
  type discrete [ 2 ] { True, False };
}
variable Alarm {
  type discrete [ 2 ] { True, False };
}
variable JohnCalls {
  type discrete [ 2 ] { True, False };
}
variable MaryCalls {
  type discrete [ 2 ] { True, False };
}
probability ( Burglary ) {
  table 0.01, 0.99;
}
probability ( Earthquake ) {
  table 0.02, 0.98;
}
probability ( Alarm | Burglary, Earthquake ) {
  (False, False) 0.001, 0.999;
  (True, False) 0.94, 0.06;
  (False, True) 0.29, 0.71;
  (True, True) 0.95, 0.05;
}
probability ( JohnCalls | Alarm ) {
  (False) 0.05, 0.95;
  (True) 0.90, 0.10;
}
probability ( MaryCalls | Alarm ) {
  (True) 0.70, 0.30;
  (False) 0.01, 0.99;
}
"""

# quoted names, no commas, no bar, tables in one list: the own states slowest, as JavaBayes has them
SPRINKLER = """network "Wet-Grass" { //4 variables and 4 probability distributions
}
variable  "Cloudy" { //2 values
	type discrete[2] {  "true"  "false" };
	property "position = (218, 195)" ;
}
variable  "Sprinkler" { //2 values
	type discrete[2] {  "true"  "false" };
}
variable  "Rain" { //2 values
	type discrete[2] {  "true"  "false" };
}
variable  "Wet-Grass" { //2 values
	type discrete[2] {  "true"  "false" };
}
probability (  "Cloudy" ) { //1 variable(s) and 2 values
	table 0.5 0.5 ;
}
probability (  "Sprinkler"  "Cloudy" ) { //2 variable(s) and 4 values
	table 0.1 0.5 0.9 0.5 ;
}
probability (  "Rain"  "Cloudy" ) { //2 variable(s) and 4 values
	table 0.8 0.2 0.2 0.8 ;
}
probability (  "Wet-Grass"  "Sprinkler"  "Rain" ) { //3 variable(s) and 8 values
	table 0.99 0.9 0.9 0.0 0.01 0.1 0.1 1.0 ;
}
"""

NETWORKS = {"asia": ASIA, "cancer": CANCER, "earthquake": EARTHQUAKE, "sprinkler": SPRINKLER}
