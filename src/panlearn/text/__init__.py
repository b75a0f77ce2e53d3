"""Text: distances, counts, tokens, language models, embeddings, topics and ranking of sentences.

Documents go in as an iterable of strings or of lists of tokens. Counts are statistics, so that a
stream of batches of documents and a Dask bag of them work as a list does.
"""

from panlearn.text import distance, fuzz, process
from panlearn.text._cooccurrence import cooccurrence, pmi
from panlearn.text._documents import WordTokenizer
from panlearn.text.bpe_tokenizer import BPETokenizer
from panlearn.text.chat import ChatTemplate
from panlearn.text.cooccurrence_embedding import CooccurrenceEmbedding
from panlearn.text.edit_distance import edit_distance, edit_distances, edit_operations
from panlearn.text.fasttext_classifier import FastTextClassifier
from panlearn.text.glove import GloVe
from panlearn.text.hmm_tagger import HMMTagger
from panlearn.text.latent_dirichlet_allocation import LatentDirichletAllocation
from panlearn.text.ngram_model import NGramModel
from panlearn.text.pagerank import pagerank
from panlearn.text.plsa import PLSA
from panlearn.text.spell_corrector import SpellCorrector
from panlearn.text.text_rank import TextRank
from panlearn.text.tfidf_vectorizer import TfidfVectorizer
from panlearn.text.unigram_tokenizer import UnigramTokenizer
from panlearn.text.word2vec import Word2Vec
from panlearn.text.wordpiece_tokenizer import WordPieceTokenizer

__all__ = [
    "PLSA",
    "BPETokenizer",
    "ChatTemplate",
    "CooccurrenceEmbedding",
    "FastTextClassifier",
    "GloVe",
    "HMMTagger",
    "LatentDirichletAllocation",
    "NGramModel",
    "SpellCorrector",
    "TextRank",
    "TfidfVectorizer",
    "UnigramTokenizer",
    "Word2Vec",
    "WordPieceTokenizer",
    "WordTokenizer",
    "cooccurrence",
    "distance",
    "edit_distance",
    "edit_distances",
    "edit_operations",
    "fuzz",
    "pagerank",
    "pmi",
    "process",
]
