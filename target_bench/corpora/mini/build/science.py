"""Chemical elements, moons, programming languages and crewed space missions."""

from __future__ import annotations

from .model import Table, lines, table

ELEMENT_HEADER = "Symbol|Element|Atomic number|Period|Standard atomic weight"
MOON_HEADER = "Moon|Discovered|Discoverer"
LANGUAGE_HEADER = "Language|First appeared|Designer"
MISSION_HEADER = "Mission|Launched|Commander|Rest of the crew"

ELEMENTS: dict[str, tuple[str, str]] = {
    "1": (
        "Alkali metal",
        """
Li|Lithium|3|2|6.94
Na|Sodium|11|3|22.990
K|Potassium|19|4|39.098
Rb|Rubidium|37|5|85.468
Cs|Caesium|55|6|132.91
Fr|Francium|87|7|(223)
""",
    ),
    "2": (
        "Alkaline earth metal",
        """
Be|Beryllium|4|2|9.0122
Mg|Magnesium|12|3|24.305
Ca|Calcium|20|4|40.078
Sr|Strontium|38|5|87.62
Ba|Barium|56|6|137.33
Ra|Radium|88|7|(226)
""",
    ),
    "14": (
        "Carbon group",
        """
C|Carbon|6|2|12.011
Si|Silicon|14|3|28.085
Ge|Germanium|32|4|72.630
Sn|Tin|50|5|118.71
Pb|Lead|82|6|207.2
Fl|Flerovium|114|7|(289)
""",
    ),
    "15": (
        "Pnictogen",
        """
N|Nitrogen|7|2|14.007
P|Phosphorus|15|3|30.974
As|Arsenic|33|4|74.922
Sb|Antimony|51|5|121.76
Bi|Bismuth|83|6|208.98
Mc|Moscovium|115|7|(290)
""",
    ),
    "16": (
        "Chalcogen",
        """
O|Oxygen|8|2|15.999
S|Sulfur|16|3|32.06
Se|Selenium|34|4|78.971
Te|Tellurium|52|5|127.60
Po|Polonium|84|6|(209)
Lv|Livermorium|116|7|(293)
""",
    ),
    "17": (
        "Halogen",
        """
F|Fluorine|9|2|18.998
Cl|Chlorine|17|3|35.45
Br|Bromine|35|4|79.904
I|Iodine|53|5|126.90
At|Astatine|85|6|(210)
Ts|Tennessine|117|7|(294)
""",
    ),
    "18": (
        "Noble gas",
        """
He|Helium|2|1|4.0026
Ne|Neon|10|2|20.180
Ar|Argon|18|3|39.95
Kr|Krypton|36|4|83.798
Xe|Xenon|54|5|131.29
Rn|Radon|86|6|(222)
Og|Oganesson|118|7|(294)
""",
    ),
}

MOONS: dict[str, str] = {
    "Jupiter": """
Io|1610|Galileo Galilei
Europa|1610|Galileo Galilei
Ganymede|1610|Galileo Galilei
Callisto|1610|Galileo Galilei
Amalthea|1892|Edward Emerson Barnard
Himalia|1904|Charles Dillon Perrine
Elara|1905|Charles Dillon Perrine
Pasiphae|1908|Philibert Jacques Melotte
Sinope|1914|Seth Barnes Nicholson
Lysithea|1938|Seth Barnes Nicholson
Carme|1938|Seth Barnes Nicholson
Ananke|1951|Seth Barnes Nicholson
""",
    "Saturn": """
Titan|1655|Christiaan Huygens
Iapetus|1671|Giovanni Domenico Cassini
Rhea|1672|Giovanni Domenico Cassini
Tethys|1684|Giovanni Domenico Cassini
Dione|1684|Giovanni Domenico Cassini
Mimas|1789|William Herschel
Enceladus|1789|William Herschel
Hyperion|1848|William Cranch Bond, George Phillips Bond and William Lassell
Phoebe|1899|William Henry Pickering
""",
    "Uranus": """
Titania|1787|William Herschel
Oberon|1787|William Herschel
Ariel|1851|William Lassell
Umbriel|1851|William Lassell
Miranda|1948|Gerard Kuiper
Puck|1985|Voyager 2
""",
    "Neptune": """
Triton|1846|William Lassell
Nereid|1949|Gerard Kuiper
Naiad|1989|Voyager 2
Thalassa|1989|Voyager 2
Despina|1989|Voyager 2
Galatea|1989|Voyager 2
Proteus|1989|Voyager 2
Hippocamp|2013|Mark Showalter
""",
    "Pluto": """
Charon|1978|James Christy
Nix|2005|Hubble Space Telescope team
Hydra|2005|Hubble Space Telescope team
Kerberos|2011|Hubble Space Telescope team
Styx|2012|Hubble Space Telescope team
""",
}

LANGUAGES: dict[str, str] = {
    "1950s and 1960s": """
Fortran|1957|John Backus
COBOL|1959|CODASYL committee
Lisp|1960|John McCarthy
BASIC|1964|John Kemeny and Thomas Kurtz
APL|1966|Kenneth Iverson
BCPL|1967|Martin Richards
Logo|1967|Wally Feurzeig, Seymour Papert and Cynthia Solomon
B|1969|Ken Thompson
""",
    "1970s": """
Pascal|1970|Niklaus Wirth
C|1972|Dennis Ritchie
Prolog|1972|Alain Colmerauer
Smalltalk|1972|Alan Kay
ML|1973|Robin Milner
Scheme|1975|Guy Steele and Gerald Jay Sussman
AWK|1977|Alfred Aho, Peter Weinberger and Brian Kernighan
""",
    "1980s": """
Objective-C|1984|Brad Cox and Tom Love
C++|1985|Bjarne Stroustrup
Miranda|1985|David Turner
Erlang|1986|Joe Armstrong, Robert Virding and Mike Williams
Eiffel|1986|Bertrand Meyer
Perl|1987|Larry Wall
Tcl|1988|John Ousterhout
""",
    "1990s": """
Haskell|1990|Committee of researchers
Python|1991|Guido van Rossum
Lua|1993|Roberto Ierusalimschy, Luiz Henrique de Figueiredo and Waldemar Celes
R|1993|Ross Ihaka and Robert Gentleman
Java|1995|James Gosling
JavaScript|1995|Brendan Eich
PHP|1995|Rasmus Lerdorf
Ruby|1995|Yukihiro Matsumoto
OCaml|1996|Xavier Leroy
""",
    "2000s": """
C#|2000|Anders Hejlsberg
D|2001|Walter Bright
Groovy|2003|James Strachan
Scala|2004|Martin Odersky
F#|2005|Don Syme
Clojure|2007|Rich Hickey
CoffeeScript|2009|Jeremy Ashkenas
Go|2009|Robert Griesemer, Rob Pike and Ken Thompson
""",
    "2010s": """
Dart|2011|Lars Bak and Kasper Lund
Kotlin|2011|JetBrains
Elixir|2012|José Valim
Elm|2012|Evan Czaplicki
Julia|2012|Jeff Bezanson, Stefan Karpinski, Viral Shah and Alan Edelman
TypeScript|2012|Anders Hejlsberg
Swift|2014|Chris Lattner
Zig|2016|Andrew Kelley
""",
}

MISSIONS: dict[str, tuple[str, str]] = {
    "mercury": (
        "Project Mercury",
        """
Mercury-Redstone 3|May 1961|Alan Shepard|none
Mercury-Redstone 4|July 1961|Gus Grissom|none
Mercury-Atlas 6|February 1962|John Glenn|none
Mercury-Atlas 7|May 1962|Scott Carpenter|none
Mercury-Atlas 8|October 1962|Wally Schirra|none
Mercury-Atlas 9|May 1963|Gordon Cooper|none
""",
    ),
    "gemini": (
        "Project Gemini",
        """
Gemini 3|March 1965|Gus Grissom|John Young
Gemini 4|June 1965|James McDivitt|Ed White
Gemini 5|August 1965|Gordon Cooper|Pete Conrad
Gemini 7|December 1965|Frank Borman|Jim Lovell
Gemini 6A|December 1965|Wally Schirra|Thomas Stafford
Gemini 8|March 1966|Neil Armstrong|David Scott
Gemini 9A|June 1966|Thomas Stafford|Eugene Cernan
Gemini 10|July 1966|John Young|Michael Collins
Gemini 11|September 1966|Pete Conrad|Richard Gordon
Gemini 12|November 1966|Jim Lovell|Buzz Aldrin
""",
    ),
    "apollo": (
        "Apollo program",
        """
Apollo 7|October 1968|Wally Schirra|Donn Eisele, Walter Cunningham
Apollo 8|December 1968|Frank Borman|Jim Lovell, William Anders
Apollo 9|March 1969|James McDivitt|David Scott, Rusty Schweickart
Apollo 10|May 1969|Thomas Stafford|John Young, Eugene Cernan
Apollo 11|July 1969|Neil Armstrong|Michael Collins, Buzz Aldrin
Apollo 12|November 1969|Pete Conrad|Richard Gordon, Alan Bean
Apollo 13|April 1970|Jim Lovell|Jack Swigert, Fred Haise
Apollo 14|January 1971|Alan Shepard|Stuart Roosa, Edgar Mitchell
Apollo 15|July 1971|David Scott|Alfred Worden, James Irwin
Apollo 16|April 1972|John Young|Ken Mattingly, Charles Duke
Apollo 17|December 1972|Eugene Cernan|Ronald Evans, Harrison Schmitt
""",
    ),
    "vostok": (
        "Vostok programme",
        """
Vostok 1|April 1961|Yuri Gagarin|none
Vostok 2|August 1961|Gherman Titov|none
Vostok 3|August 1962|Andriyan Nikolayev|none
Vostok 4|August 1962|Pavel Popovich|none
Vostok 5|June 1963|Valery Bykovsky|none
Vostok 6|June 1963|Valentina Tereshkova|none
""",
    ),
    "shenzhou": (
        "Shenzhou program",
        """
Shenzhou 5|October 2003|Yang Liwei|none
Shenzhou 6|October 2005|Fei Junlong|Nie Haisheng
Shenzhou 7|September 2008|Zhai Zhigang|Liu Boming, Jing Haipeng
Shenzhou 9|June 2012|Jing Haipeng|Liu Wang, Liu Yang
Shenzhou 10|June 2013|Nie Haisheng|Zhang Xiaoguang, Wang Yaping
Shenzhou 11|October 2016|Jing Haipeng|Chen Dong
Shenzhou 12|June 2021|Nie Haisheng|Liu Boming, Tang Hongbo
Shenzhou 13|October 2021|Zhai Zhigang|Wang Yaping, Ye Guangfu
Shenzhou 14|June 2022|Chen Dong|Liu Yang, Cai Xuzhe
""",
    ),
}


def _elements() -> list[Table]:
    return [
        table(f"elements-group-{group}", name, f"Group {group}", ELEMENT_HEADER, lines(body))
        for group, (name, body) in ELEMENTS.items()
    ]


def _moons() -> list[Table]:
    made = []
    for planet, body in MOONS.items():
        section = "Discovery of the best-known satellites"
        title = f"Moons of {planet}"
        made.append(table(f"moons-of-{planet.lower()}", title, section, MOON_HEADER, lines(body)))
    return made


def _languages() -> list[Table]:
    made = []
    for era, body in LANGUAGES.items():
        slug = era.replace(" and ", "-")
        title = "Timeline of programming languages"
        rows = lines(body)
        made.append(table(f"languages-{slug}", title, f"The {era}", LANGUAGE_HEADER, rows))
    return made


def _missions() -> list[Table]:
    return [
        table(f"missions-{slug}", title, "Crewed missions", MISSION_HEADER, lines(body))
        for slug, (title, body) in MISSIONS.items()
    ]


def tables() -> list[Table]:
    """All the tables of science and technology."""
    return [*_elements(), *_moons(), *_languages(), *_missions()]
