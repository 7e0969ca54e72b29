"""Questions on elements, moons, programming languages and crewed space missions."""

from __future__ import annotations

from .lookups import at, distinct, gap, larger, most, qa, shared, tally

QUESTIONS = [
    qa(
        "Which alkali metal has 37 protons in its nucleus?", "elements-group-1", at("37", "Element")
    ),
    qa(
        "The letter K stands for which element in the periodic table?",
        "elements-group-1",
        at("K", "Element"),
    ),
    qa(
        "Which relative of magnesium and calcium sits in period 7?",
        "elements-group-2",
        at("Period=7", "Element"),
    ),
    qa(
        "What is the standard atomic weight of calcium?",
        "elements-group-2",
        at("Calcium", "Standard atomic weight"),
    ),
    qa("Give the symbol used for tin.", "elements-group-14", at("Tin", "Symbol")),
    qa(
        "In which row, or period, of the periodic table is germanium placed?",
        "elements-group-14",
        at("Germanium", "Period"),
    ),
    qa(
        "Which member of nitrogen's family has atomic number 51?",
        "elements-group-15",
        at("51", "Element"),
    ),
    qa(
        "How many places apart are sulfur and selenium when elements are numbered?",
        "elements-group-16",
        gap(at("Selenium", "Atomic number"), at("Sulfur", "Atomic number")),
    ),
    qa(
        "Element 116 is a synthetic chalcogen; what is it called?",
        "elements-group-16",
        at("116", "Element"),
    ),
    qa(
        "What symbol does the halogen with the highest atomic number have?",
        "elements-group-17",
        most("Symbol", "Atomic number"),
    ),
    qa(
        "Which halogen has a standard atomic weight of 79.904?",
        "elements-group-17",
        at("79.904", "Element"),
    ),
    qa(
        "How many noble gases are there if oganesson is counted?",
        "elements-group-18",
        distinct("Element"),
    ),
    qa(
        "Which has the higher atomic number, lead or bismuth?",
        ["elements-group-14", "elements-group-15"],
        larger(
            at("Lead", "Atomic number"),
            at("Bismuth", "Atomic number", table=1),
            ("Lead", "Bismuth"),
        ),
    ),
    qa(
        "Who found the Jovian satellite Amalthea?",
        "moons-of-jupiter",
        at("Amalthea", "Discoverer"),
        "E. E. Barnard",
        "Barnard",
    ),
    qa(
        "Of the dozen best-known satellites of Jupiter, how many did Seth Nicholson find?",
        "moons-of-jupiter",
        tally("Discoverer", "Seth Barnes Nicholson"),
    ),
    qa("In which year was Titan first seen?", "moons-of-saturn", at("Titan", "Discovered")),
    qa("Which satellite did Giovanni Cassini spot in 1672?", "moons-of-saturn", at("1672", "Moon")),
    qa(
        "Which astronomer discovered Miranda, a small moon with a Shakespearean name?",
        "moons-of-uranus",
        at("Miranda", "Discoverer"),
    ),
    qa(
        "How many years passed between the sighting of Triton and that of Nereid?",
        "moons-of-neptune",
        gap(at("Triton", "Discovered"), at("Nereid", "Discovered")),
    ),
    qa(
        "What did James Christy detect in 1978 in orbit around a dwarf planet?",
        "moons-of-pluto",
        at("James Christy", "Moon"),
    ),
    qa(
        "Which nineteenth-century observer discovered moons of Uranus as well as one of Neptune?",
        ["moons-of-uranus", "moons-of-neptune"],
        at("Triton", "Discoverer", table=1),
    ),
    qa(
        "Ken Thompson's forerunner of C was known by what one-letter name?",
        "languages-1950s-1960s",
        at("Ken Thompson", "Language"),
    ),
    qa(
        "Which of the early programming languages came from Backus?",
        "languages-1950s-1960s",
        at("John Backus", "Language"),
    ),
    qa(
        "Which Swiss computer scientist designed Pascal?",
        "languages-1970s",
        at("Pascal", "Designer"),
    ),
    qa(
        "Bertrand Meyer gave a programming language the name of which tower?",
        "languages-1980s",
        at("Bertrand Meyer", "Language"),
    ),
    qa("When did Larry Wall release Perl?", "languages-1980s", at("Perl", "First appeared")),
    qa(
        "How many of the well-known programming languages of the nineties date from 1995?",
        "languages-1990s",
        tally("First appeared", "1995"),
    ),
    qa(
        "What is the name of Rich Hickey's Lisp dialect?",
        "languages-2000s",
        at("Rich Hickey", "Language"),
    ),
    qa("Who came up with the Zig language?", "languages-2010s", at("Zig", "Designer")),
    qa(
        "Who designed one popular programming language in the 2000s and another in the 2010s?",
        ["languages-2000s", "languages-2010s"],
        shared("Designer"),
    ),
    qa(
        "On which flight did John Glenn orbit the Earth in February 1962?",
        "missions-mercury",
        at("John Glenn", "Mission"),
    ),
    qa(
        "Who was Neil Armstrong's crewmate in March 1966?",
        "missions-gemini",
        at("Gemini 8", "Rest of the crew"),
    ),
    qa(
        "Who commanded the Moon flight of April 1970 that had to turn back?",
        "missions-apollo",
        at("April 1970", "Commander"),
    ),
    qa(
        "Which Apollo mission lifted off in March 1969?",
        "missions-apollo",
        at("March 1969", "Mission"),
    ),
    qa("Who was aboard Vostok 6?", "missions-vostok", at("Vostok 6", "Commander")),
    qa(
        "In what month and year did China first send a person into space?",
        "missions-shenzhou",
        at("Shenzhou 5", "Launched"),
    ),
    qa(
        "How many of the crewed Chinese flights up to June 2022 had Nie Haisheng in command?",
        "missions-shenzhou",
        tally("Commander", "Nie Haisheng"),
    ),
]
