"""Latent Dirichlet allocation by collapsed Gibbs sampling."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.interrupts import passes
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.text._documents import Tokenizer, WordTokenizer
from panlearn.text._topic_chain import Chain, whole
from panlearn.text._topic_kernels import fold_in, left_to_right
from panlearn.text._topics import Corpus, TopicModel, Topics, is_counts, of_tokens
from panlearn.text._words import union

Sweeps = Annotated[int, Bounds(1, 10**6, closed_low=True, closed_high=True)]
EVERY = 10
"""Sweeps from one sample to the next that the estimates are the mean of."""


@dataclass(eq=False, repr=False)
class LatentDirichletAllocation(TopicModel):
    r"""Documents as mixtures of topics, topics as laws of words, both with Dirichlet priors.

    .. math::
        \phi_k \sim \mathrm{Dir}(\beta), \quad \theta_d \sim \mathrm{Dir}(\alpha), \quad
        z_{di} \sim \theta_d, \quad w_{di} \sim \phi_{z_{di}}, \qquad
        p(z_{di} = k \mid z_{-di}, w) \propto
        (\alpha_k + n_{dk}) \frac{\beta + n_{kw}}{V \beta + n_k}

    Parameters
    ----------
    n_components : int, default=10
        The number K of topics.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        :math:`\alpha`, or where its updates begin; 1 / K if None.
    topic_word_prior : float, default=None
        :math:`\beta`, or where its updates begin; 1 / K if None.
    n_iter : int, default=200
        Sweeps over the tokens.
    n_burn_in : int, default=100
        How many of the first sweeps are left out of the estimates.
    optim_interval : int, default=10
        Sweeps between updates of both priors, from the tenth on; 0 leaves them as they are.
    min_df : int, default=1
        Words that fewer documents have are left out.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        Cuts a text into words.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the sampler.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_words)
        The topics :math:`\phi_k`; each row sums to one.
    words_ : ndarray of shape (n_words,)
        The words of the columns.
    doc_topic_ : ndarray of shape (n_documents, n_components)
        The shares :math:`\theta_d` of the training documents, of the last batch if there were some.
    topics_ : ndarray of shape (n_tokens,)
        The last topic of each token.
    doc_topic_prior_ : ndarray of shape (n_components,)
        :math:`\alpha`.
    topic_word_prior_ : float
        :math:`\beta`.
    history_ : dict
        ``log_likelihood``: log p(w, z) of a token, after each sweep; of the documents of the last
        call of `partial_fit`, given those before.
    counts_ : ndarray of shape (n_words, n_components)
        How often each word had each topic in the last sweep, from which `partial_fit` goes on.
    n_batch_iter_ : int
        How many batches of documents were learned from.
    n_features_in_ : int
        Number of columns, if X was a matrix.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if it had names.

    Notes
    -----
    The mass of a token's law is split in the few topics that its word has and a rest whose sum is
    kept up to date, so that a sweep costs :math:`O(N k)` for N tokens whose words have k topics
    each, not K; a token needs eight bytes. The first sweep seats the tokens one by one. Estimates
    are means over every tenth sweep after the burn-in. One seed gives one result, to the bit.

    The priors go by Minka's fixed point, :math:`\alpha_k \leftarrow \alpha_k \sum_d [\psi(\alpha_k
    + n_{dk}) - \psi(\alpha_k)] / (1 + \sum_d [\psi(\sum \alpha + N_d) - \psi(\sum \alpha)])`, one
    for each topic, and :math:`\beta` likewise, one for all words. The 1 is an exponential prior,
    without which they could grow for ever.

    `transform` keeps the topics fixed and iterates the laws of the tokens, each given the expected
    counts of the others; it draws nothing. `score_samples` estimates the probability of a document
    by particles from left to right, as Wallach et al. do; but here, after each word, particles are
    drawn anew by how well they foretold it, which takes away the bias that theirs has with any
    number of them.

    References
    ----------
    T. L. Griffiths and M. Steyvers (2004). Finding scientific topics. PNAS 101.
    doi:10.1073/pnas.0307752101

    L. Yao, D. Mimno and A. McCallum (2009). Efficient methods for topic model inference on
    streaming document collections. KDD. doi:10.1145/1557019.1557121

    H. M. Wallach, I. Murray, R. Salakhutdinov and D. Mimno (2009). Evaluation methods for topic
    models. ICML. doi:10.1145/1553374.1553515

    Examples
    --------
    >>> from panlearn.text import LatentDirichletAllocation
    >>> fruit, sea = "apple pear plum apple pear", "ship wave port ship wave"
    >>> model = LatentDirichletAllocation(2, random_state=0).fit([fruit, sea] * 10)
    >>> sorted(model.top_words(2))
    [['apple', 'pear'], ['ship', 'wave']]
    >>> model.transform(["plum and pear", "wave"]).argmax(axis=1).tolist() in ([0, 1], [1, 0])
    True
    """

    learned = shapes(
        words_="(n_words,)",
        components_="(n_components, n_words)",
        doc_topic_="(n_documents, n_components)",
        topics_="(n_tokens,) < n_components",
        doc_topic_prior_="(n_components,)",
        counts_="(n_words, n_components)",
    )

    capabilities = Capabilities(sources=ANYWHERE, sparse=True)

    n_components: Topics = 10
    _: KW_ONLY
    doc_topic_prior: Positive[float] | np.ndarray | None = None
    topic_word_prior: Positive[float] | None = None
    n_iter: Sweeps = 200
    n_burn_in: NonNegative[int] = 100
    optim_interval: NonNegative[int] = 10
    min_df: Positive[int] = 1
    tokenizer: Tokenizer = WordTokenizer()
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample the topics of all tokens.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches, or matrix of counts
            The documents; or a matrix with one row a document and one column a word, dense, sparse
            or a data frame. They are held in memory as numbers.
        y : object, default=None
            Ignored.

        Returns
        -------
        LatentDirichletAllocation
            The model itself.
        """
        alpha = self._document_prior()
        beta = float(self.topic_word_prior or 1 / self.n_components)
        self.n_batch_iter_ = 0
        return self._sample(self._learn_words(X), alpha, beta, None)

    @fitting
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Sample the topics of further documents, given those of the tokens so far, which remain.

        The first call is a `fit`. A later one runs as many sweeps over its own documents alone,
        with the counts of words and topics of all calls before added to theirs, and with priors
        that begin where they are; so every token counts alike, and what was learned is what the
        next documents start from. The same batches in the same order with the same
        ``random_state`` give the same bits. Words that are new join the vocabulary if as many
        documents of their batch have them as `min_df` says.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents, as those before.
        y : object, default=None
            Ignored.

        Returns
        -------
        LatentDirichletAllocation
            The model itself, with the shares and the topics of these documents.
        """
        if not hasattr(self, "counts_"):
            return self.fit(X)
        if self.counts_.shape[1] != self.n_components:
            raise ValueError(
                f"n_components={self.n_components}, and the model has {self.counts_.shape[1]} "
                "topics; call fit to begin anew"
            )
        if is_counts(X) or hasattr(self, "n_features_in_"):
            corpus, seen = self._new(X), self.counts_
        else:
            corpus, seen = self._more_words(X)
        if not corpus.counts.nnz:
            raise ValueError("there is no word in X, so there is nothing to learn from")
        return self._sample(corpus, self.doc_topic_prior_, self.topic_word_prior_, seen)

    def _more_words(self, X: Any) -> tuple[Corpus, np.ndarray]:
        """Read further documents, and make room for their words among those so far."""
        old, counts = self.words_, self.counts_
        fresh = self._learn_words(X)
        self.words_, (places, new_places) = union(old, self.words_)
        shape = (len(self.words_), self.n_components)
        require_memory(shape, "the table of words and topics", "lower n_components")
        seen = np.zeros(shape, dtype=np.int32)
        seen[places] = counts
        ids = new_places[fresh.ids].astype(np.int32)
        return of_tokens(ids, fresh.offsets, len(self.words_), None), seen

    def _sample(
        self, corpus: Corpus, alpha: np.ndarray, beta: float, seen: np.ndarray | None
    ) -> Self:
        """Draw the topics of a corpus, given counts of words and topics from before."""
        if self.n_burn_in >= self.n_iter:
            raise ValueError(
                f"n_burn_in={self.n_burn_in} leaves nothing of n_iter={self.n_iter} sweeps; raise "
                "n_iter"
            )
        batch = self.n_batch_iter_
        rng = generator(self.random_state)
        if batch:  # other draws for each batch, from one seed
            rng = np.random.default_rng(rng.integers(2**63, size=batch + 1))
        chain = Chain(whole(corpus), alpha, beta, rng, seen)
        history, n_samples = [], 0
        components = np.zeros((len(self.words_), self.n_components))
        shares = np.zeros((len(chain.offsets) - 1, self.n_components))
        for step in (i + 1 for i in passes(self, self.n_iter)):
            history.append(chain.sweep() / max(len(chain.topics), 1))
            if self.optim_interval and step >= EVERY and step % self.optim_interval == 0:
                chain.update_priors()
            if step > self.n_burn_in and (self.n_iter - step) % EVERY == 0:
                chain.add_word_laws(components)
                shares += chain.document_laws()
                n_samples += 1
        if not n_samples:  # interrupted in the burn-in: as it stands
            chain.add_word_laws(components)
            shares, n_samples = chain.document_laws(), 1
        self.components_ = np.ascontiguousarray(components.T) / n_samples
        self.doc_topic_, self.topics_ = shares / n_samples, chain.topics
        self.doc_topic_prior_, self.topic_word_prior_ = chain.alpha, chain.beta
        self.counts_, self.n_batch_iter_ = chain.word_counts(), batch + 1
        self.history_ = {"log_likelihood": history}
        return self

    def _document_prior(self) -> np.ndarray:
        given = 1 / self.n_components if self.doc_topic_prior is None else self.doc_topic_prior
        try:
            alpha = np.asarray(given, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"doc_topic_prior must hold numbers: {error}") from error
        if alpha.ndim == 0 and alpha > 0:
            return np.full(self.n_components, float(alpha))
        if alpha.shape != (self.n_components,) or not (np.isfinite(alpha) & (alpha > 0)).all():
            raise ValueError(
                f"doc_topic_prior must hold n_components={self.n_components} positive numbers; got "
                f"shape {alpha.shape}"
            )
        return alpha.copy()

    def transform(self, X: Any) -> np.ndarray:
        """Give the expected shares of the topics in new documents.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents. Words that the model does not know are left out; without any a document
            has the shares of the prior.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        corpus = whole(self._new(X))
        theta = np.empty((len(corpus.offsets) - 1, len(self.components_)))
        words = np.ascontiguousarray(self.components_.T)
        fold_in(corpus.ids, corpus.offsets, words, self.doc_topic_prior_, 200, 1e-8, theta)
        return theta

    def score_samples(self, X: Any, *, n_particles: int = 20, random_state: int = 0) -> np.ndarray:
        r"""Estimate the log probability of new documents, :math:`\log p(w_d \mid \Phi, \alpha)`.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents. Words that the model does not know are left out.
        n_particles : int, default=20
            The more, the closer: the estimate of the probability is unbiased, that of its
            logarithm is low.
        random_state : int, default=0
            Seeds the particles, for each document alike, so that what one has does not depend on
            the others. The cost grows with the square of a document's length.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        return self._log_probability(self._new(X), n_particles, random_state)

    def _log_probability(self, corpus: Corpus, n_particles: int, random_state: int) -> np.ndarray:
        if n_particles < 1:
            raise ValueError(f"n_particles must be 1 at least; got {n_particles}")
        corpus = whole(corpus)
        words, value = np.ascontiguousarray(self.components_.T), np.empty(len(corpus.offsets) - 1)
        seed = generator(random_state).integers(2**63, dtype=np.uint64)
        alpha = self.doc_topic_prior_
        left_to_right(corpus.ids, corpus.offsets, words, alpha, n_particles, seed, value)
        return value

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean log probability of new documents, estimated.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def perplexity(self, X: Any, *, n_particles: int = 20, random_state: int = 0) -> float:
        r"""Give the held-out perplexity, :math:`\exp(-\sum_d \log p(w_d) / \sum_d N_d)`.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents. Words that the model does not know are left out.
        n_particles : int, default=20
            As in `score_samples`.
        random_state : int, default=0
            As in `score_samples`.

        Returns
        -------
        float
            The number of equally probable words that would be as hard to guess.
        """
        corpus = self._new(X)  # once: X may be a generator
        n_tokens = corpus.counts.sum()
        if not n_tokens:
            raise ValueError("no document has a word that the model knows: no perplexity")
        values = self._log_probability(corpus, n_particles, random_state)
        return float(np.exp(-values.sum() / n_tokens))
