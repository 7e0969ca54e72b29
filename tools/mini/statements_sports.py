"""Statements on sport, true and false."""

from __future__ import annotations

from .lookups import at, eq, gap, gt, holding, lt, most, no, tally, yes

STATEMENTS = [
    yes(
        "East German athletes won twenty gold medals at Munich 1972.",
        "olympics-1972-medals",
        eq(at("East Germany", "Gold"), "20"),
    ),
    no(
        "Hungary came home from Munich with more golds than Poland.",
        "olympics-1972-medals",
        gt(at("Hungary", "Gold"), at("Poland", "Gold")),
    ),
    no(
        "The Montreal Olympics brought the American team 40 gold medals.",
        "olympics-1976-medals",
        eq(at("United States", "Gold"), "40"),
    ),
    yes(
        "In Montreal, East Germany collected as many silvers as bronzes.",
        "olympics-1976-medals",
        eq(at("East Germany", "Silver"), at("East Germany", "Bronze")),
    ),
    yes(
        "Great Britain won fewer golds than Cuba at the Moscow Games.",
        "olympics-1980-medals",
        lt(at("Great Britain", "Gold"), at("Cuba", "Gold")),
    ),
    no(
        "Bulgaria took more than fifty medals in Moscow in 1980.",
        "olympics-1980-medals",
        gt(at("Bulgaria", "Total"), 50),
    ),
    no(
        "Romania finished the Seoul Games with more bronze than silver medals.",
        "olympics-1988-medals",
        gt(at("Romania", "Bronze"), at("Romania", "Silver")),
    ),
    yes(
        "Hungary took more silver than gold at the 1992 Summer Games.",
        "olympics-1992-medals",
        gt(at("Hungary", "Silver"), at("Hungary", "Gold")),
    ),
    no(
        "China won more golds than Great Britain at Rio 2016.",
        "olympics-2016-medals",
        gt(at("China", "Gold"), at("Great Britain", "Gold")),
    ),
    no(
        "The Dutch brought fewer golds home from Paris 2024 than the British.",
        "olympics-2024-medals",
        lt(at("Netherlands", "Gold"), at("Great Britain", "Gold")),
    ),
    yes(
        "In Sarajevo the Soviet team won the most medals overall without winning the most golds.",
        "winter-olympics-1984-medals",
        eq(most("Nation", "Total"), "Soviet Union"),
    ),
    yes(
        "Italy's skiers and skaters had more golds than France's in Albertville.",
        "winter-olympics-1992-medals",
        gt(at("Italy", "Gold"), at("France", "Gold")),
    ),
    no(
        "Norway beat Russia on gold medals at the Lillehammer Olympics.",
        "winter-olympics-1994-medals",
        gt(at("Norway", "Gold"), at("Russia", "Gold")),
    ),
    yes(
        "Austria won 17 medals in Nagano, nine of them bronze.",
        "winter-olympics-1998-medals",
        eq(at("17", "9", "Nation"), "Austria"),
    ),
    yes(
        "West Germany won its 1990 World Cup semi-final on penalties.",
        "world-cup-1990-knockout",
        eq(at("Semi-final", "West Germany", "Settled in"), "Penalties (4-3)"),
    ),
    no(
        "Spain put South Korea out of the 2002 World Cup.",
        "world-cup-2002-knockout",
        eq(at("Spain", "South Korea", "Winner"), "Spain"),
    ),
    yes(
        "Italy beat the German hosts after extra time in a World Cup semi-final.",
        "world-cup-2006-knockout",
        eq(at("Semi-final", "Germany", "Settled in"), "Extra time"),
    ),
    no(
        "Diego Maradona's Argentina lost 3-0 to Germany in Cape Town in 2010.",
        "world-cup-2010-knockout",
        eq(at("Argentina", "Score"), "3-0"),
    ),
    yes(
        "Costa Rica only went out of the 2014 World Cup after a shoot-out with the Dutch.",
        "world-cup-2014-knockout",
        eq(at("Costa Rica", "Settled in"), "Penalties (4-3)"),
    ),
    no(
        "Croatia needed only extra time to get past Russia in 2018.",
        "world-cup-2018-knockout",
        eq(at("Russia", "Settled in"), "Extra time"),
    ),
    yes(
        "Morocco ended Portugal's World Cup in Qatar by a single goal.",
        "world-cup-2022-knockout",
        eq(at("Morocco", "Portugal", "Score"), "1-0"),
    ),
    no(
        "Turkey's Euro 2000 ended with a defeat by Italy.",
        "euro-2000-knockout",
        eq(at("Turkey", "Winner"), "Italy"),
    ),
    yes(
        "England left Euro 2004 after a shoot-out.",
        "euro-2004-knockout",
        eq(at("England", "Settled in"), "Penalties (6-5)"),
    ),
    yes(
        "Spain won 3-0 against Russia on the way to the 2008 European title.",
        "euro-2008-knockout",
        eq(at("Semi-final", "Russia", "Score"), "3-0"),
    ),
    no(
        "The Germans reached the final of Euro 2012 by beating Italy.",
        "euro-2012-knockout",
        eq(at("Semi-final", "Germany", "Winner"), "Germany"),
    ),
    no(
        "Wales lost to Belgium at Euro 2016.",
        "euro-2016-knockout",
        eq(at("Belgium", "Winner"), "Belgium"),
    ),
    yes(
        "Two of the four quarter-finals of Euro 2024 went to penalties.",
        "euro-2024-knockout",
        eq(holding("Settled in", "Penalties"), "2"),
    ),
    no(
        "Lotus cars won five drivers' titles in the seventies.",
        "formula-one-1970s",
        eq(tally("Constructor", "Lotus"), "5"),
    ),
    yes(
        "Alain Prost and Nelson Piquet were each champion three times in the eighties.",
        "formula-one-1980s",
        eq(tally("Champion", "Alain Prost"), tally("Champion", "Nelson Piquet")),
    ),
    no(
        "Mika Häkkinen's two titles came at the wheel of a Williams.",
        "formula-one-1990s",
        eq(at("1998", "Constructor"), "Williams"),
    ),
    no(
        "Lleyton Hewitt beat Andy Roddick in his Wimbledon final.",
        "wimbledon-men-2000s",
        eq(at("Lleyton Hewitt", "Runner-up"), "Andy Roddick"),
    ),
    yes(
        "Gustavo Kuerten won in Paris two years running.",
        "french-open-men-2000s",
        eq(tally("Champion", "Gustavo Kuerten"), "2"),
    ),
    no(
        "Andy Murray won his first final in New York, beating Federer.",
        "us-open-men-2000s",
        eq(at("2008", "Champion"), "Andy Murray"),
    ),
    yes(
        "Marat Safin lost twice in the Melbourne final before the end of 2004.",
        "australian-open-men-2000s",
        eq(tally("Runner-up", "Marat Safin"), "2"),
    ),
    yes(
        "Kim Clijsters was women's champion in New York in both 2005 and 2009.",
        "us-open-women-2000s",
        eq(at("2005", "Champion"), at("2009", "Champion")),
    ),
    no(
        "Lindsay Davenport beat Jennifer Capriati in the 2000 final in Melbourne.",
        "australian-open-women-2000s",
        eq(at("2000", "Runner-up"), "Jennifer Capriati"),
    ),
    yes(
        "Dallas lost Super Bowl V by three points.",
        "super-bowls-1967-1976",
        eq(gap(at("V", "Winner's points"), at("V", "Loser's points")), "3"),
    ),
    yes(
        "Tampa Bay scored 48 points against Oakland in the NFL final.",
        "super-bowls-1997-2006",
        eq(at("Tampa Bay Buccaneers", "Winner's points"), "48"),
    ),
    no(
        "The Giants lost to New England in February 2008.",
        "super-bowls-2007-2016",
        eq(at("2008", "Loser"), "New York Giants"),
    ),
]
