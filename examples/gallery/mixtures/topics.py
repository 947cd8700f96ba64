"""
PLSA: topics of headlines
=========================

Probabilistic latent semantic analysis (PLSA) models each document as a mixture of topics, and each
topic as a distribution over words. The panels show the most probable words of each topic.
"""

from mlcore.kernels import WordCounts
from mlcore.mixture import PLSA
from mlcore.plot import topics

headlines = """
striker scores twice as the team wins the cup final
goalkeeper saves the match for the home team
coach praises the striker after the cup match
team loses the final match of the season
coach leaves the team before the season
parliament votes on the budget after a long debate
minister defends the budget in parliament
the minister loses the vote on the new law
debate on the law divides the government
government wins the vote and the budget passes
telescope finds water on a distant planet
probe lands on the planet and sends images
astronomers see a star swallow a planet
new telescope sends first images of a star
probe measures water in the tail of a comet
""".strip().splitlines()
stop = {"the", "a", "of", "on", "in", "and", "as", "to", "for", "after", "before", "new", "first"}
texts = [" ".join(word for word in line.split() if word not in stop) for line in headlines]

words = WordCounts()
counts = words.fit_transform(texts)
model = PLSA(3, n_init=10, random_state=0).fit(counts)
picture = topics(model, words.get_feature_names_out(), n_words=6)
fresh = model.transform(words.transform(["striker signs for home team"]))
print("a new headline:", fresh[0].round(2))
