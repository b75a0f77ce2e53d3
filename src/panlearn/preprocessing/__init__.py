"""Columns made ready for a model, from wherever the rows come: scaling, encoding, pipelines.

`StandardScaler` stands on the moments of each column, `OneHotEncoder` and `OrdinalEncoder` on
counts of its labels; all three are sums over rows, so that they learn from arrays, streams and Dask
collections alike. `transform` of a stream is a stream and of a Dask array a Dask array, so
scikit-learn's own pipelines fit from them; `Pipeline` adds ``partial_fit``.
"""

from panlearn.preprocessing.one_hot_encoder import OneHotEncoder
from panlearn.preprocessing.ordinal_encoder import OrdinalEncoder
from panlearn.preprocessing.pipeline import Pipeline, make_pipeline
from panlearn.preprocessing.standard_scaler import StandardScaler

__all__ = ["OneHotEncoder", "OrdinalEncoder", "Pipeline", "StandardScaler", "make_pipeline"]
