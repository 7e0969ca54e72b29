"""Questions on Formula One, tennis and the Super Bowl."""

from __future__ import annotations

from .lookups import at, distinct, gap, larger, most, plus, qa, tally

QUESTIONS = [
    qa(
        "Who won the inaugural Formula One drivers' title?",
        "formula-one-1950s",
        at("1950", "Champion"),
        "Nino Farina",
    ),
    qa(
        "With which team did Fangio become world champion in 1956?",
        "formula-one-1950s",
        at("1956", "Constructor"),
    ),
    qa(
        "Which American was world champion at the wheel of a Ferrari in the early sixties?",
        "formula-one-1960s",
        at("United States", "Champion"),
    ),
    qa(
        "How many different men became Formula One champion during the 1960s?",
        "formula-one-1960s",
        distinct("Champion"),
    ),
    qa(
        "What make of car brought Denny Hulme his title?",
        "formula-one-1960s",
        at("Denny Hulme", "Constructor"),
    ),
    qa(
        "Who took the drivers' crown the year after Niki Lauda's first one?",
        "formula-one-1970s",
        at("1976", "Champion"),
    ),
    qa(
        "In what year was South Africa's Jody Scheckter the best driver in the world?",
        "formula-one-1970s",
        at("Jody Scheckter", "Season"),
    ),
    qa(
        "How many championships went to McLaren drivers from 1980 to 1989?",
        "formula-one-1980s",
        tally("Constructor", "McLaren"),
    ),
    qa(
        "The Finn who became champion in 1982 drove for which outfit?",
        "formula-one-1980s",
        at("Keke Rosberg", "Constructor"),
    ),
    qa(
        "Which Canadian has won the Formula One world championship?",
        "formula-one-1990s",
        at("Canada", "Champion"),
    ),
    qa(
        "Which constructor powered Michael Schumacher to his first title?",
        "formula-one-1990s",
        at("1994", "Constructor"),
    ),
    qa(
        "Who ended Schumacher's streak of five titles in 2005?",
        "formula-one-2000s",
        at("2005", "Champion"),
    ),
    qa(
        "Jenson Button was champion in a car of which short-lived team?",
        "formula-one-2000s",
        at("Jenson Button", "Constructor"),
        "Brawn GP",
    ),
    qa(
        "Which driver interrupted Lewis Hamilton's run in 2016?",
        "formula-one-2010s",
        at("2016", "Champion"),
    ),
    qa(
        "How many times was Hamilton crowned between 2010 and 2019?",
        "formula-one-2010s",
        tally("Champion", "Lewis Hamilton"),
    ),
    qa(
        "Taking the seventies and eighties together, how many drivers' titles did Niki Lauda win?",
        ["formula-one-1970s", "formula-one-1980s"],
        plus(tally("Champion", "Niki Lauda"), tally("Champion", "Niki Lauda", table=1)),
    ),
    qa(
        "In which decade did Ferrari drivers win more Formula One titles, the 1990s or the 2000s?",
        ["formula-one-1990s", "formula-one-2000s"],
        larger(
            tally("Constructor", "Ferrari"),
            tally("Constructor", "Ferrari", table=1),
            ("The 1990s", "The 2000s"),
        ),
        "2000s",
    ),
    qa(
        "Whom did Goran Ivanišević beat in his wildcard triumph on the London grass?",
        "wimbledon-men-2000s",
        at("Goran Ivanišević", "Runner-up"),
    ),
    qa(
        "How many times was Andy Roddick the losing finalist at the All England Club in the 2000s?",
        "wimbledon-men-2000s",
        tally("Runner-up", "Andy Roddick"),
    ),
    qa(
        "Which Dutchman lost the men's final in Paris in 2003?",
        "french-open-men-2000s",
        at("2003", "Runner-up"),
    ),
    qa(
        "Who stood across the net when Rafael Nadal won Roland Garros for the first time?",
        "french-open-men-2000s",
        at("2005", "Runner-up"),
    ),
    qa(
        "How many men's titles did Federer win in New York between 2000 and 2009?",
        "us-open-men-2000s",
        tally("Champion", "Roger Federer"),
    ),
    qa(
        "Which Argentine beat Federer at Flushing Meadows to lift the trophy?",
        "us-open-men-2000s",
        at("Argentina", "Champion"),
    ),
    qa(
        "Who was the unexpected Swedish winner in Melbourne in 2002?",
        "australian-open-men-2000s",
        at("Sweden", "Champion"),
    ),
    qa(
        "Against whom did Novak Djokovic win his first major, in January 2008?",
        "australian-open-men-2000s",
        at("Novak Djokovic", "Runner-up"),
    ),
    qa(
        "Which teenager beat Serena Williams on Centre Court in 2004?",
        "wimbledon-women-2000s",
        at("2004", "Champion"),
    ),
    qa(
        "In what year did Amélie Mauresmo win on the grass of SW19?",
        "wimbledon-women-2000s",
        at("Amélie Mauresmo", "Year"),
    ),
    qa(
        "How many women's titles on Parisian clay did Justine Henin win?",
        "french-open-women-2000s",
        tally("Champion", "Justine Henin"),
    ),
    qa(
        "Which Serbian woman was champion at Roland Garros?",
        "french-open-women-2000s",
        at("Serbia", "Champion"),
    ),
    qa(
        "Which Dane was beaten in the women's final of the 2009 US Open?",
        "us-open-women-2000s",
        at("2009", "Runner-up"),
    ),
    qa(
        "Who lost the women's final in Melbourne three years in a row, from 2000 to 2002?",
        "australian-open-women-2000s",
        at("2001", "Runner-up"),
    ),
    qa(
        "Who was runner-up in the men's final of both the 2009 Australian Open and the "
        "2009 US Open?",
        ["australian-open-men-2000s", "us-open-men-2000s"],
        at("2009", "Runner-up"),
    ),
    qa(
        "From 2000 to 2009, at which of the two did Venus Williams win more singles "
        "titles, Wimbledon or the US Open?",
        ["wimbledon-women-2000s", "us-open-women-2000s"],
        larger(
            tally("Champion", "Venus Williams"),
            tally("Champion", "Venus Williams", table=1),
            ("Wimbledon", "US Open"),
        ),
    ),
    qa(
        "Which team did the Packers beat in the very first Super Bowl?",
        "super-bowls-1967-1976",
        at("I", "Loser"),
    ),
    qa(
        "How many points did Joe Namath's Jets put up in their upset of the Colts?",
        "super-bowls-1967-1976",
        at("New York Jets", "Winner's points"),
    ),
    qa(
        "By what margin did the Chicago Bears win their lopsided championship game in "
        "January 1986?",
        "super-bowls-1977-1986",
        gap(at("Chicago Bears", "Winner's points"), at("Chicago Bears", "Loser's points")),
    ),
    qa(
        "Which franchise was beaten in four consecutive Super Bowls in the early nineties?",
        "super-bowls-1987-1996",
        at("XXV", "Loser"),
    ),
    qa(
        "What is the most points a winning side put up in Super Bowls XXI to XXX?",
        "super-bowls-1987-1996",
        most("Winner's points", "Winner's points"),
    ),
    qa(
        "How many of the Super Bowls from XXXI to XL did New England win?",
        "super-bowls-1997-2006",
        tally("Winner", "New England Patriots"),
    ),
    qa(
        "Which team held Denver to eight points in an NFL title game?",
        "super-bowls-2007-2016",
        at("XLVIII", "Winner"),
    ),
    qa(
        "Which of Denver's heavy defeats was by the wider margin, Super Bowl XXIV or "
        "Super Bowl XLVIII?",
        ["super-bowls-1987-1996", "super-bowls-2007-2016"],
        larger(
            gap(at("XXIV", "Winner's points"), at("XXIV", "Loser's points")),
            gap(at("XLVIII", "Winner's points", table=1), at("XLVIII", "Loser's points", table=1)),
            ("XXIV", "XLVIII"),
        ),
        "Super Bowl XXIV",
    ),
]
