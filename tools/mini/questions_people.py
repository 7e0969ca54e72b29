"""Questions on heads of government, Nobel laureates and Academy Award winners."""

from __future__ import annotations

from .lookups import at, gap, larger, longest, qa, shared, smaller, tally, whole

QUESTIONS = [
    qa(
        "Which American president resigned in 1974?",
        "leaders-of-united-states",
        at("Left office=1974", "Name"),
    ),
    qa(
        "How many Republicans occupied the White House from Roosevelt's inauguration in "
        "1933 to January 2017?",
        "leaders-of-united-states",
        tally("Party", "Republican"),
    ),
    qa(
        "Who was in 10 Downing Street for the longest unbroken spell between 1945 and 2016?",
        "leaders-of-united-kingdom",
        longest("Name", "Took office", "Left office"),
    ),
    qa(
        "In what year did Clement Attlee's government come to an end?",
        "leaders-of-united-kingdom",
        at("Clement Attlee", "Left office"),
    ),
    qa(
        "For how many years was Helmut Kohl in charge of the Federal Republic?",
        "leaders-of-germany",
        gap(at("Helmut Kohl", "Left office"), at("Helmut Kohl", "Took office")),
    ),
    qa("Which German chancellor was born back in 1876?", "leaders-of-germany", at("1876", "Name")),
    qa(
        "Who headed the government in Ottawa for a few months in 1993 only?",
        "leaders-of-canada",
        at("Took office=1993", "Left office=1993", "Name"),
    ),
    qa(
        "To which party did Lester Pearson belong?",
        "leaders-of-canada",
        at("Lester B. Pearson", "Party"),
    ),
    qa(
        "Who governed in Canberra from 1972 until his dismissal three years later?",
        "leaders-of-australia",
        at("Took office=1972", "Name"),
    ),
    qa(
        "Which Country Party man briefly led Australia?",
        "leaders-of-australia",
        at("Country", "Name"),
    ),
    qa(
        "What year was Jacinda Ardern born in?",
        "leaders-of-new-zealand",
        at("Jacinda Ardern", "Born"),
    ),
    qa(
        "Who took over from David Lange in Wellington?",
        "leaders-of-new-zealand",
        at("Took office=1989", "Name"),
    ),
    qa(
        "Who was born earlier, Ronald Reagan or Edward Heath?",
        ["leaders-of-united-states", "leaders-of-united-kingdom"],
        smaller(
            at("Ronald Reagan", "Born"),
            at("Edward Heath", "Born", table=1),
            ("Ronald Reagan", "Edward Heath"),
        ),
    ),
    qa(
        "Who stayed in power for more years, Margaret Thatcher or Angela Merkel?",
        ["leaders-of-united-kingdom", "leaders-of-germany"],
        larger(
            gap(at("Margaret Thatcher", "Left office"), at("Margaret Thatcher", "Took office")),
            gap(
                at("Angela Merkel", "Left office", table=1),
                at("Angela Merkel", "Took office", table=1),
            ),
            ("Margaret Thatcher", "Angela Merkel"),
        ),
    ),
    qa(
        "Which Chilean poet was honoured by the Swedish Academy in 1971?",
        "nobel-literature-1970s",
        at("1971", "Laureate"),
    ),
    qa(
        "Which laureate of the seventies wrote in Yiddish?",
        "nobel-literature-1970s",
        at("Yiddish", "Laureate"),
    ),
    qa(
        "In what language did Naguib Mahfouz write the novels that won him the Nobel?",
        "nobel-literature-1980s",
        at("Naguib Mahfouz", "Writing language"),
    ),
    qa(
        "How many authors writing in English received the literature prize between 1990 and 1999?",
        "nobel-literature-1990s",
        tally("Writing language", "English"),
    ),
    qa(
        "In which year did Orhan Pamuk get the call from Stockholm?",
        "nobel-literature-2000s",
        at("Orhan Pamuk", "Year"),
    ),
    qa(
        "Which singer-songwriter was made a literature laureate?",
        "nobel-literature-2010s",
        at("2016", "Laureate"),
    ),
    qa(
        "How many scientists shared the physics prize of 2006?",
        "nobel-physics-2000s",
        at("2006", "Number of laureates"),
    ),
    qa(
        "When were Englert and Higgs rewarded by the Nobel committee?",
        "nobel-physics-2010s",
        at("François Englert, Peter Higgs", "Year"),
    ),
    qa(
        "Who had the Nobel Prize in Chemistry all to himself in 2011?",
        "nobel-chemistry-2010s",
        at("2011", "Laureates"),
    ),
    qa(
        "Which Japanese biologist won the medicine prize alone in 2016?",
        "nobel-medicine-2010s",
        at("2016", "Laureates"),
    ),
    qa(
        "In what year were Mandela and de Klerk jointly honoured in Oslo?",
        "nobel-peace-1990s",
        at("Nelson Mandela, F. W. de Klerk", "Year"),
    ),
    qa(
        "Which humanitarian organisation of doctors received the peace award in 1999?",
        "nobel-peace-1990s",
        at("1999", "Laureates"),
        "Doctors Without Borders",
    ),
    qa(
        "If organisations count as well, how many peace laureates were named from 2000 to 2009?",
        "nobel-peace-2000s",
        whole("Number of laureates"),
    ),
    qa(
        "When did the European Union receive the Nobel Peace Prize?",
        "nobel-peace-2010s",
        at("European Union", "Year"),
    ),
    qa(
        "Were there more three-way physics Nobel Prizes in the 2000s or in the 2010s?",
        ["nobel-physics-2000s", "nobel-physics-2010s"],
        larger(
            tally("Number of laureates", "3"),
            tally("Number of laureates", "3", table=1),
            ("The 2000s", "The 2010s"),
        ),
        "2000s",
    ),
    qa(
        "Which Best Picture of the sixties missed out on the directing award?",
        "best-picture-1960s",
        at("No", "Film"),
    ),
    qa(
        "Which Coppola picture won the top Oscar without bringing him the directing award?",
        "best-picture-1970s",
        at("Francis Ford Coppola", "No", "Film"),
    ),
    qa("Who directed the Vietnam film Platoon?", "best-picture-1980s", at("Platoon", "Director")),
    qa(
        "Who was behind the camera of The Silence of the Lambs?",
        "best-picture-1990s",
        at("The Silence of the Lambs", "Director"),
    ),
    qa(
        "Which war drama by Kathryn Bigelow won Best Picture?",
        "best-picture-2000s",
        at("Kathryn Bigelow", "Film"),
    ),
    qa(
        "How many Best Picture winners from 2010 to 2019 failed to win for directing?",
        "best-picture-2010s",
        tally("Best Director too", "No"),
    ),
    qa(
        "Whose films were named Best Picture once in the nineties and once in the 2000s?",
        ["best-picture-1990s", "best-picture-2000s"],
        shared("Director"),
    ),
    qa(
        "Which filmmaker directed a Best Picture of the 1970s and another of the 1980s?",
        ["best-picture-1970s", "best-picture-1980s"],
        shared("Director"),
        "Milos Forman",
    ),
]
