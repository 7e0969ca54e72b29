"""Questions on administrative divisions, parks, countries and metro systems."""

from __future__ import annotations

from .lookups import at, least, qa, shared, smaller, tally

QUESTIONS = [
    qa(
        "What is the capital of Saskatchewan?", "divisions-of-canada", at("Saskatchewan", "Capital")
    ),
    qa(
        "Which Canadian province is governed from Fredericton?",
        "divisions-of-canada",
        at("Fredericton", "Division"),
    ),
    qa(
        "Hobart is the seat of government of which Australian state?",
        "divisions-of-australia",
        at("Hobart", "Division"),
    ),
    qa(
        "Where does the parliament of Queensland sit?",
        "divisions-of-australia",
        at("Queensland", "Capital"),
    ),
    qa(
        "Which German Land is run from Wiesbaden?",
        "divisions-of-germany",
        at("Wiesbaden", "Division"),
    ),
    qa(
        "What ISO code does Thuringia have?",
        "divisions-of-germany",
        at("Thuringia", "ISO 3166-2 code"),
    ),
    qa("Which Austrian state is abbreviated AT-6?", "divisions-of-austria", at("AT-6", "Division")),
    qa(
        "Which city is the provincial capital of Hainaut?",
        "divisions-of-belgium",
        at("Hainaut", "Capital"),
    ),
    qa(
        "What is the chief town of the Belgian Limburg?",
        "divisions-of-belgium",
        at("Limburg", "Capital"),
    ),
    qa(
        "Lelystad administers which Dutch province?",
        "divisions-of-netherlands",
        at("Lelystad", "Division"),
    ),
    qa(
        "Which South African province has its capital at the diamond town of Kimberley?",
        "divisions-of-south-africa",
        at("Kimberley", "Division"),
    ),
    qa(
        "Belgium and the Netherlands each have a province of the same name. Which name is it?",
        ["divisions-of-belgium", "divisions-of-netherlands"],
        shared("Division"),
    ),
    qa(
        "What is the oldest national park in the USA?",
        "parks-of-united-states",
        least("Park", "Established"),
    ),
    qa(
        "Which state would you visit to see Crater Lake?",
        "parks-of-united-states",
        at("Crater Lake", "Location"),
    ),
    qa("When was Banff put under protection?", "parks-of-canada", at("Banff", "Established")),
    qa(
        "What is the national park of Saskatchewan that dates from 1927?",
        "parks-of-canada",
        at("Saskatchewan", "Park"),
    ),
    qa(
        "Which park covers much of Stewart Island?",
        "parks-of-new-zealand",
        at("Stewart Island", "Park"),
    ),
    qa(
        "How many of New Zealand's national parks are in the North Island?",
        "parks-of-new-zealand",
        tally("Location", "North Island"),
    ),
    qa(
        "What was the first national park to be created in Scotland?",
        "parks-of-united-kingdom",
        at("2002", "Park"),
    ),
    qa(
        "How many national parks are there in Wales?",
        "parks-of-united-kingdom",
        tally("Location", "Wales"),
    ),
    qa(
        "Which national park can be found in Thuringia?",
        "parks-of-germany",
        at("Thuringia", "Park"),
    ),
    qa(
        "Since when has Kruger been a national park?",
        "parks-of-south-africa",
        at("Kruger", "Established"),
    ),
    qa(
        "Both the United States and Canada have a national park called Glacier. Which "
        "country's is older?",
        ["parks-of-united-states", "parks-of-canada"],
        smaller(
            at("Glacier", "Established"),
            at("Glacier", "Established", table=1),
            ("United States", "Canada"),
        ),
    ),
    qa("What do you pay with in Asunción?", "countries-south-america", at("Asunción", "Currency")),
    qa(
        "Web addresses ending in .sr belong to which country?",
        "countries-south-america",
        at(".sr", "Country"),
    ),
    qa(
        "Which Central American state has given up its own money for the US dollar?",
        "countries-central-america",
        at("United States dollar", "Country"),
    ),
    qa("The kip circulates in which country?", "countries-southeast-asia", at("Kip", "Country")),
    qa(
        "Which purpose-built city is the seat of government of Myanmar?",
        "countries-southeast-asia",
        at("Myanmar", "Capital"),
    ),
    qa("Where is the birr legal tender?", "countries-east-africa", at("Birr", "Country")),
    qa("Name the capital of Burundi.", "countries-east-africa", at("Burundi", "Capital")),
    qa(
        "In which country would you spend pula?", "countries-southern-africa", at("Pula", "Country")
    ),
    qa(
        "Which city is the Kyrgyz capital?",
        "countries-central-asia-and-south-caucasus",
        at("Kyrgyzstan", "Capital"),
    ),
    qa(
        "In what year did underground trains start to run in London?",
        "metros-western-europe",
        at("London", "First section opened"),
    ),
    qa(
        "Which opened its metro first, Madrid or Barcelona?",
        "metros-western-europe",
        smaller(
            at("Madrid", "First section opened"),
            at("Barcelona", "First section opened"),
            ("Madrid", "Barcelona"),
        ),
    ),
    qa(
        "Which city was the second in the USSR, in 1955, to get a metro?",
        "metros-former-soviet-union",
        at("1955", "City"),
        "Leningrad",
    ),
    qa(
        "When could one first ride the subway in Seoul?",
        "metros-east-and-south-asia",
        at("Seoul", "First section opened"),
    ),
    qa(
        "Which Latin American metropolis has had an underground since 1913?",
        "metros-americas",
        at("1913", "City"),
    ),
    qa(
        "Which city had a metro earlier, Montreal or Nagoya?",
        ["metros-americas", "metros-east-and-south-asia"],
        smaller(
            at("Montreal", "First section opened"),
            at("Nagoya", "First section opened", table=1),
            ("Montreal", "Nagoya"),
        ),
    ),
]
