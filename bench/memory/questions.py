"""A question set with known evidence, made to be hard for words: paraphrases, names, dates, negations.

Each line is a memory, the day it is of, and questions that it answers. Around them stand memories on the same matters
about other people, which share their words.
"""

import random
from datetime import UTC, datetime
from typing import NamedTuple


class Evidence(NamedTuple):
    """A memory and the questions that it answers."""

    text: str
    day: str
    questions: tuple[str, ...]


NOW = int(datetime(2026, 6, 3, 12, tzinfo=UTC).timestamp() * 1000)
"""When the questions are asked: a Wednesday."""

_LINES = """
Her dog is called Rex and is a beagle.|2025-03-02|What are her dogs named?|Which breeds does she keep?
Is allergic to hazelnuts and carries an injector.|2025-04-11|Which allergies do I have to watch for when baking?|Does hazelnut make her ill?
Doesn't drink coffee after noon because she can't sleep then.|2025-05-20|When must I never serve her coffee?|Is she drinking coffees in the afternoon?
Moved from Leipzig to Bern on 2024-09-14.|2024-09-14|In which month of 2024 did she relocate to Bern?|Where was she living before moving to Bern?
Works as a pediatric nurse at the Inselspital.|2025-01-08|Who employs her as a nurse?|What nursing jobs does she have?
Her brother Tomas got married to Ines on 3 May 2025.|2025-05-03|Whom did Tomas marry?|On which day in May 2025 was the wedding of her brothers?
Prefers trains to planes and books window seats.|2025-02-02|Is flying something she prefers over trains?|Which seat do I reserve on a train?
Never eats meat on Fridays.|2025-02-14|What does she not eat on a Friday?|Which food is off the table each Friday?
Plays the oboe in the orchestra of Thun on Tuesdays.|2025-03-18|Which instruments is she playing?|When are the orchestra's rehearsals in Thun?
Has a standing desk and two monitors by Eizo.|2025-06-01|How many monitors are standing on her desks?|Who makes her displays? Eizo?
Is training for the marathon in Zurich on 19 April 2026.|2025-12-01|What does she train for?|Which running events are in April 2026?
Her passport expires on 2027-01-30.|2025-08-08|In January 2027 which document of hers is expiring?|How long are her passports valid?
Cancelled the subscription to the newspaper in October.|2025-10-05|Which subscriptions were cancelled?|Does she still have newspapers subscribed?
Wants answers without bullet points.|2025-07-07|How should an answer not be formatted? bullets?|Which points does she want answers to leave out?
Sold the blue kayak to Mr. Okafor for 450 francs.|2025-06-22|Who bought the kayaks?|How many francs did Okafor pay?
Her daughter Mila starts kindergarten in August 2026.|2026-01-15|When is Mila starting at the kindergarten?|How are her daughters called?
Speaks Czech with her grandmother.|2025-09-01|Which languages does she speak within the family? Czech?|With whom is Czech spoken?
Doesn't like cilantro, it tastes like soap to her.|2025-03-30|Which herbs taste soapy to her?|What herb should never be in her salads? cilantro?
The bicycle was stolen at the station in November 2025.|2025-11-12|What got stolen at stations?|In which month was her bike, a bicycle, taken by thieves?
Is reading the novels of Ursula Le Guin in order.|2026-02-10|Which authors is she reading?|What novel series by Le Guin does she read?
Her mother had a hip operation in Basel on 12 February 2026.|2026-02-12|Whose hips were operated on?|What operations were there in February 2026?
Pays 1,850 francs of rent for the flat in the Lorraine.|2025-04-01|How high is her rent, 1850?|In which quarter are they renting flats?
Isn't on any social network except Mastodon.|2025-05-05|Which social networks does she use?|On what network is she not absent?
Promised to send the slides to Dr. Haddad by 30 June.|2026-05-28|What did she promise Haddad?|To which doctors must slides be sent?
Keeps bees: three hives behind the chapel in Worb.|2025-05-15|How many beehives, hives, are there?|Where is she keeping a bee colony in Worb?
Had the boiler repaired by Kern AG, which took two visits.|2025-12-20|Who repairs boilers for her?|How often did Kern visit?
Does yoga at 6:30 before work, but not on weekends.|2026-01-20|When is there no yoga?|What is she doing before working?
Her wedding anniversary is on the 9th of July.|2025-07-09|What does she celebrate each July 9?|When are the anniversaries of her wedding?
Lent the tent to Priya, who has not returned it.|2025-08-19|Who hasn't returned tents?|What did Priya borrow, a tent she was lent?
Switched from Android to an iPhone 17 last winter.|2026-02-25|Which phones did she switch to?|What was used before switching to the iPhone?
Wears glasses for driving only, minus 1.5 diopters.|2025-10-10|When does she need to wear a pair of glasses?|How many diopters are her lenses for driving?
Refused the job offer from Novalis because of the commute.|2026-03-03|Why were offers of a job refused?|Which company's offer did she not take? Novalis?
Is learning to bake sourdough; the starter is called Bruno.|2025-11-30|What is Bruno?|Which breads does she learn baking?
Her car, a red Panda, failed the inspection in March 2026.|2026-03-17|Which cars failed their inspections?|What happened with the Panda in March?
Doesn't want to be called before nine in the morning.|2025-06-06|When must nobody call, never before what hour?|How early may calls be made in mornings?
Donates 20 francs a month to the lifeboats.|2025-09-22|To whom does she make donations monthly?|How many francs go to a lifeboat?
Her nephew Elio is studying architecture in Delft.|2025-09-29|What are her nephews studying?|Who studies at Delft?
Planted two fig trees, one of which did not survive the frost.|2026-01-28|How many figs, fig trees, were planted?|Which trees has the frost not left alive?
Booked a cabin in Sils for the last week of September 2026.|2026-04-20|Where are cabins booked?|What is booked for September?
Prefers tea from Assam, without sugar.|2025-02-20|How does she take teas?|Which teas are preferred, and does she take sugar or not?
Has a scar on the left knee from a fall in the Alps.|2025-07-30|How did she get scars?|Which of her knees is scarred?
Never got the refund of 79 euros from the airline.|2025-12-12|Which refunds never arrived?|Who owes her 79 euros?
Her boss is Ms. Achterberg, who retires in December 2026.|2026-05-04|Who's retiring in December?|What are her bosses called?
Volunteers at the library every second Saturday.|2025-10-25|Where does she do volunteering?|On which Saturdays is there library work?
Gave up smoking on 1 January 2023 and has not relapsed.|2023-01-01|Since when is she not smoking?|Did she ever relapse after having given up cigarettes, smoking?
Collects stamps of lighthouses, most of them Danish.|2025-03-09|What kind of stamp is she collecting?|From which country are the lighthouse stamps? Danish?
Uses Fedora at home and refuses to use Windows.|2026-02-02|Which operating systems won't she use, not even Windows?|What is she using at home, Fedora?
The cat, Minou, needs thyroid pills twice a day.|2026-04-02|How often do pills have to be given to cats?|Which animal has thyroids treated?
Was born in Olomouc in 1984.|2025-01-01|What year and town was she born in, Olomouc?|When is her birth, the year?
Wrote her thesis about glaciers under Prof. Lindqvist.|2025-04-30|What are theses of hers about?|Who supervised the glacier work, which professor? Lindqvist?
"""

_PEOPLE = ["Amira", "Bruno", "Chen", "Dagmar", "Emeka", "Farah", "Goran", "Hana", "Ivo", "Jolanda", "Kofi", "Lena"]
_PLACES = ["Bern", "Thun", "Basel", "Zurich", "Delft", "Leipzig", "Sils", "Worb", "Olomouc", "Oslo", "Porto", "Ghent"]
_THINGS = ["the bicycle", "a kayak", "two monitors", "the tent", "a passport", "the boiler", "a red car", "the flat",
           "a fig tree", "stamps", "the slides", "an oboe", "glasses", "a phone", "tea", "the cat", "a dog", "bread"]  # fmt: skip
_TEMPLATES = [
    "{who} from {place} asked about {thing}.",
    "{who} has {thing} and is moving to {place} in {month}.",
    "Talked with {who} about {thing} on {day} {month}.",
    "{who} doesn't like {thing}, and never has.",
    "{who} bought {thing} in {place} for {n} francs.",
    "{who} does not work on Fridays in {month}.",
    "The job of {who} in {place} ended on {day} {month}.",
    "{who} promised to send {thing} to {other} by {day} {month}.",
    "{who} and {other} drink coffee in {place} every second week.",
    "{other} was called by {who} before nine because of {thing}.",
]
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


def evidence() -> list[Evidence]:
    """The memories with questions."""
    found: list[Evidence] = []
    for line in _LINES.strip().splitlines():
        text, day, *questions = line.split("|")
        found.append(Evidence(text, day, tuple(questions)))
    return found


def distractors(count: int, seed: int = 7) -> list[tuple[str, int]]:
    """Memories on the same matters, each with its time in milliseconds."""
    chance = random.Random(seed)  # noqa: S311
    made: dict[str, int] = {}
    while len(made) < count:
        text = chance.choice(_TEMPLATES).format(
            who=chance.choice(_PEOPLE),
            other=chance.choice(_PEOPLE),
            place=chance.choice(_PLACES),
            thing=chance.choice(_THINGS),
            month=chance.choice(_MONTHS),
            day=chance.randint(1, 28),
            n=chance.randint(5, 2000),
        )
        text += f" ({len(made)})" if text in made or count > 20_000 else ""
        made[text] = NOW - chance.randint(0, 1000) * 24 * 3600 * 1000
    return list(made.items())
