"""Statements on science, geography and people, true and false."""

from __future__ import annotations

from .lookups import at, eq, gap, gt, holding, lt, most, no, yes

STATEMENTS = [
    yes(
        "Francium belongs to the seventh period.",
        "elements-group-1",
        eq(at("Francium", "Period"), "7"),
    ),
    no(
        "Strontium has atomic number 56.",
        "elements-group-2",
        eq(at("Strontium", "Atomic number"), "56"),
    ),
    yes(
        "Silicon's standard atomic weight is a little over 28.",
        "elements-group-14",
        eq(at("Silicon", "Standard atomic weight"), "28.085"),
    ),
    no("The symbol of antimony is An.", "elements-group-15", eq(at("Antimony", "Symbol"), "An")),
    no(
        "Tellurium comes before selenium in the order of atomic numbers.",
        "elements-group-16",
        lt(at("Tellurium", "Atomic number"), at("Selenium", "Atomic number")),
    ),
    yes("Iodine has 53 protons.", "elements-group-17", eq(at("Iodine", "Atomic number"), "53")),
    no(
        "Xenon is lighter than krypton.",
        "elements-group-18",
        lt(at("Xenon", "Standard atomic weight"), at("Krypton", "Standard atomic weight")),
    ),
    yes(
        "Himalia and Elara, both companions of Jupiter, were found by the same man.",
        "moons-of-jupiter",
        eq(at("Himalia", "Discoverer"), at("Elara", "Discoverer")),
    ),
    no(
        "Enceladus was spotted by Cassini.",
        "moons-of-saturn",
        eq(at("Enceladus", "Discoverer"), "Giovanni Domenico Cassini"),
    ),
    no(
        "William Lassell discovered Oberon.",
        "moons-of-uranus",
        eq(at("Oberon", "Discoverer"), "William Lassell"),
    ),
    yes(
        "Mark Showalter is credited with finding Hippocamp in 2013.",
        "moons-of-neptune",
        eq(at("Hippocamp", "2013", "Discoverer"), "Mark Showalter"),
    ),
    yes(
        "Kerberos was detected a year before Styx.",
        "moons-of-pluto",
        eq(gap(at("Kerberos", "Discovered"), at("Styx", "Discovered")), "1"),
    ),
    no(
        "COBOL is older than Fortran.",
        "languages-1950s-1960s",
        lt(at("COBOL", "First appeared"), at("Fortran", "First appeared")),
    ),
    yes(
        "Prolog and C first appeared in the same year.",
        "languages-1970s",
        eq(at("Prolog", "First appeared"), at("C", "First appeared")),
    ),
    no(
        "Tcl was designed by Larry Wall.",
        "languages-1980s",
        eq(at("Tcl", "Designer"), "Larry Wall"),
    ),
    yes(
        "Brendan Eich and James Gosling both brought out a language in 1995.",
        "languages-1990s",
        eq(at("Brendan Eich", "First appeared"), at("James Gosling", "First appeared")),
    ),
    no(
        "Martin Odersky is the designer of Clojure.",
        "languages-2000s",
        eq(at("Clojure", "Designer"), "Martin Odersky"),
    ),
    yes(
        "The Kotlin language comes from the company JetBrains.",
        "languages-2010s",
        eq(at("Kotlin", "Designer"), "JetBrains"),
    ),
    no(
        "Scott Carpenter made his Mercury flight in October 1962.",
        "missions-mercury",
        eq(at("Scott Carpenter", "Launched"), "October 1962"),
    ),
    yes(
        "Buzz Aldrin flew with Jim Lovell on the last Gemini mission.",
        "missions-gemini",
        eq(at("Buzz Aldrin", "Mission"), "Gemini 12"),
    ),
    yes(
        "Harrison Schmitt flew to the Moon under the command of Eugene Cernan.",
        "missions-apollo",
        eq(at("Ronald Evans, Harrison Schmitt", "Commander"), "Eugene Cernan"),
    ),
    no(
        "Gherman Titov was launched in the same month as Yuri Gagarin.",
        "missions-vostok",
        eq(at("Gherman Titov", "Launched"), at("Yuri Gagarin", "Launched")),
    ),
    no(
        "Shenzhou 13 carried Wang Yaping under the command of Nie Haisheng.",
        "missions-shenzhou",
        eq(at("Shenzhou 13", "Commander"), "Nie Haisheng"),
    ),
    yes(
        "Prince Edward Island is governed from Charlottetown.",
        "divisions-of-canada",
        eq(at("Prince Edward Island", "Capital"), "Charlottetown"),
    ),
    no(
        "Darwin is the capital of South Australia.",
        "divisions-of-australia",
        eq(at("Darwin", "Division"), "South Australia"),
    ),
    no(
        "Zwolle is the capital of Gelderland.",
        "divisions-of-netherlands",
        eq(at("Zwolle", "Division"), "Gelderland"),
    ),
    yes(
        "Bloemfontein is the capital of the Free State.",
        "divisions-of-south-africa",
        eq(at("Free State", "Capital"), "Bloemfontein"),
    ),
    no(
        "Denali became a national park before Mount Rainier did.",
        "parks-of-united-states",
        lt(at("Denali", "Established"), at("Mount Rainier", "Established")),
    ),
    no(
        "Fiordland is among the parks of the North Island.",
        "parks-of-new-zealand",
        eq(at("Fiordland", "Location"), "North Island"),
    ),
    yes(
        "The South Downs joined Britain's national parks in 2010.",
        "parks-of-united-kingdom",
        eq(at("South Downs", "Established"), "2010"),
    ),
    no(
        "Berchtesgaden is older as a national park than the Bavarian Forest.",
        "parks-of-germany",
        lt(at("Berchtesgaden", "Established"), at("Bavarian Forest", "Established")),
    ),
    yes(
        "Golden Gate Highlands is a national park in the Free State.",
        "parks-of-south-africa",
        eq(at("Golden Gate Highlands", "Location"), "Free State"),
    ),
    no("Peru pays in bolívares.", "countries-south-america", eq(at("Peru", "Currency"), "Bolívar")),
    yes(
        "The lempira is the money of Honduras.",
        "countries-central-america",
        eq(at("Lempira", "Country"), "Honduras"),
    ),
    no(
        "Dili is the capital of Brunei.",
        "countries-southeast-asia",
        eq(at("Dili", "Country"), "Brunei"),
    ),
    yes("Eritrea uses the nakfa.", "countries-east-africa", eq(at("Eritrea", "Currency"), "Nakfa")),
    yes(
        "Antananarivo is where Madagascar is governed from.",
        "countries-southern-africa",
        eq(at("Madagascar", "Capital"), "Antananarivo"),
    ),
    no(
        "The somoni is Kazakhstan's currency.",
        "countries-central-asia-and-south-caucasus",
        eq(at("Somoni", "Country"), "Kazakhstan"),
    ),
    yes(
        "Stockholm had a metro before Lisbon did.",
        "metros-western-europe",
        lt(at("Stockholm", "First section opened"), at("Lisbon", "First section opened")),
    ),
    no(
        "Kharkiv's metro opened earlier than Kyiv's.",
        "metros-former-soviet-union",
        lt(at("Kharkiv", "First section opened"), at("Kyiv", "First section opened")),
    ),
    no(
        "Delhi has had a metro for longer than Kolkata.",
        "metros-east-and-south-asia",
        lt(at("Delhi", "First section opened"), at("Kolkata", "First section opened")),
    ),
    yes(
        "São Paulo's first metro line dates from 1974.",
        "metros-americas",
        eq(at("São Paulo", "First section opened"), "1974"),
    ),
    yes(
        "Nixon and Ford were born in the same year.",
        "leaders-of-united-states",
        eq(at("Richard Nixon", "Born"), at("Gerald Ford", "Born")),
    ),
    no(
        "Harold Wilson's second spell as prime minister lasted until 1979.",
        "leaders-of-united-kingdom",
        eq(at("Took office=1974", "Left office"), "1979"),
    ),
    yes(
        "Willy Brandt was a chancellor from the SPD.",
        "leaders-of-germany",
        eq(at("Willy Brandt", "Party"), "SPD"),
    ),
    no(
        "Joe Clark led a Liberal government in Ottawa.",
        "leaders-of-canada",
        eq(at("Joe Clark", "Party"), "Liberal"),
    ),
    yes(
        "Bob Hawke stayed in office longer than Paul Keating, his Labor successor.",
        "leaders-of-australia",
        gt(
            gap(at("Bob Hawke", "Left office"), at("Bob Hawke", "Took office")),
            gap(at("Paul Keating", "Left office"), at("Paul Keating", "Took office")),
        ),
    ),
    no(
        "Jenny Shipley was a Labour prime minister.",
        "leaders-of-new-zealand",
        eq(at("Jenny Shipley", "Party"), "Labour"),
    ),
    yes(
        "Wole Soyinka became a laureate in 1986.",
        "nobel-literature-1980s",
        eq(at("Wole Soyinka", "Year"), "1986"),
    ),
    yes(
        "Wisława Szymborska received the Nobel one year after Seamus Heaney.",
        "nobel-literature-1990s",
        eq(gap(at("Wisława Szymborska", "Year"), at("Seamus Heaney", "Year")), "1"),
    ),
    no(
        "Harold Pinter was awarded the Nobel after Doris Lessing.",
        "nobel-literature-2000s",
        gt(at("Harold Pinter", "Year"), at("Doris Lessing", "Year")),
    ),
    yes(
        "Alice Munro and Kazuo Ishiguro are English-language laureates of the same decade.",
        "nobel-literature-2010s",
        eq(at("Alice Munro", "Writing language"), at("Kazuo Ishiguro", "Writing language")),
    ),
    no(
        "The discoverers of giant magnetoresistance, Fert and Grünberg, were honoured in 2008.",
        "nobel-physics-2000s",
        eq(at("Albert Fert, Peter Grünberg", "Year"), "2008"),
    ),
    yes(
        "Donna Strickland shared her physics prize with two men.",
        "nobel-physics-2010s",
        eq(at("Arthur Ashkin, Gérard Mourou, Donna Strickland", "Number of laureates"), "3"),
    ),
    no(
        "Goodenough, Whittingham and Yoshino received their chemistry prize in 2017.",
        "nobel-chemistry-2010s",
        eq(at("John Goodenough, Stanley Whittingham, Akira Yoshino", "Year"), "2017"),
    ),
    yes(
        "In vitro fertilisation pioneer Robert Edwards was sole winner of his medicine prize.",
        "nobel-medicine-2010s",
        eq(at("Robert Edwards", "Number of laureates"), "1"),
    ),
    no(
        "Rigoberta Menchú won the peace prize a year before Aung San Suu Kyi.",
        "nobel-peace-1990s",
        lt(at("Rigoberta Menchú", "Year"), at("Aung San Suu Kyi", "Year")),
    ),
    yes(
        "Wangari Maathai was the peace laureate of 2004.",
        "nobel-peace-2000s",
        eq(at("2004", "Laureates"), "Wangari Maathai"),
    ),
    no(
        "Malala Yousafzai was the only winner of the peace prize in 2014.",
        "nobel-peace-2010s",
        eq(at("2014", "Number of laureates"), "1"),
    ),
    yes(
        "Robert Wise made two of the Best Pictures of the 1960s, one of them with a co-director.",
        "best-picture-1960s",
        eq(holding("Director", "Robert Wise"), "2"),
    ),
    no(
        "The Sting was directed by William Friedkin.",
        "best-picture-1970s",
        eq(at("The Sting", "Director"), "William Friedkin"),
    ),
    yes(
        "Gandhi brought Richard Attenborough the directing Oscar as well.",
        "best-picture-1980s",
        eq(at("Gandhi", "Best Director too"), "Yes"),
    ),
    no(
        "Sam Mendes directed Shakespeare in Love.",
        "best-picture-1990s",
        eq(at("Shakespeare in Love", "Director"), "Sam Mendes"),
    ),
    no(
        "Crash won the Academy Award for directing too.",
        "best-picture-2000s",
        eq(at("Crash", "Best Director too"), "Yes"),
    ),
    yes(
        "Parasite followed Green Book as Best Picture.",
        "best-picture-2010s",
        eq(gap(at("Parasite", "Film year"), at("Green Book", "Film year")), "1"),
    ),
    yes(
        "The heaviest noble gas is called oganesson.",
        "elements-group-18",
        eq(most("Element", "Atomic number"), "Oganesson"),
    ),
]
