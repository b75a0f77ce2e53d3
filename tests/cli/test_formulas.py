import pytest

from panlearn.cli.formulas import spoken


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"\ell_2", "ℓ_2"),
        (r"\{x : \lVert x \rVert_1 \le r\}", "{x : ‖ x ‖_1 ≤ r}"),
        (r"\exp(-\frac12 \sum_k (x_k - z_k)^2 / \ell_k^2)", "exp(-1/2 Σ_k (x_k - z_k)² / ℓ_k²)"),
        (r"x^\top z / (\|x\| \|z\|)", "xᵀ z / (‖x‖ ‖z‖)"),
        (r"\operatorname{softmax}(Q K^\top / \sqrt d + M) V", "softmax(Q Kᵀ / √d + M) V"),
        (r"1 / \sqrt{1 + c k}", "1 / √(1 + c k)"),
        (r"\frac{2}{\ell^2} \sin^2(\pi p)", "2/(ℓ²) sin²(π p)"),
        (r"\hat R", "R\u0302"),
        (r"r_\theta(x, y)", "r_θ(x, y)"),
        (r"[q_{\alpha/2}, q_{1 - \alpha/2}]", "[q_(α/2), q_(1 - α/2)]"),
        (r"f^{\#\{i : k \ge t_i\}}", "f^(#{i : k ≥ t_i})"),
        (r"g(x) \, a(x, z)", "g(x) a(x, z)"),
        (r"\binom{m}{k} x^k", "C(m, k) x^k"),
        (r"W_L (\dots (W_1 x)_+ \dots)_+", "W_L (… (W_1 x)_+ …)_+"),
        (r"\mathbb{E} \dot x \propto \tfrac12 \varepsilon", "E x\u0307 ∝ 1/2 ε"),
    ],
)
def test_formulas_are_letters_and_signs(latex, said):
    assert spoken(latex) == said
