"""Whether passages bear a claim, and what they lack."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.grounding.support import support_of

RULES = [
    "Lodging is paid up to 300 yuan a night.",
    "Meals are paid up to 100 yuan. Since 5 March 2024 no receipts are kept.",
]


def reasons(claim, passages=RULES):
    return {reason.code: reason.missing for reason in support_of(claim, passages).reasons}


def test_a_statement_of_the_passage_is_supported_by_its_sentence():
    """The span is that sentence, with its offsets."""
    found = support_of("Meals are paid up to 100 yuan.", RULES)
    assert found.band == "supported"
    assert found.span is not None
    assert (found.span.passage, found.span.quote) == (1, "Meals are paid up to 100 yuan.")
    assert RULES[1][found.span.start_char : found.span.end_char] == found.span.quote


def test_what_no_passage_speaks_of_is_not_found():
    """No span either."""
    found = support_of("Elephants paint quickly.", RULES)
    assert (found.band, found.span) == ("not_found", None)
    assert found.score < 0.2


def test_a_number_that_no_passage_has_keeps_a_claim_from_being_supported():
    """However alike all other words are."""
    found = support_of("Lodging is paid up to 400 yuan a night.", RULES)
    assert found.band != "supported"
    assert reasons("Lodging is paid up to 400 yuan a night.")["numbers"] == ("400 yuan",)


def test_the_same_number_in_another_unit_is_named():
    """And keeps the claim from being supported."""
    assert reasons("Lodging is paid up to 300 dollars a night.")["units"] == ("300 dollars",)
    assert support_of("Lodging is paid up to 300 dollars a night.", RULES).band != "supported"


def test_another_date_is_named_and_the_same_one_in_another_notation_is_not():
    """5 March 2024 is 2024-03-05."""
    assert reasons("Since 6 March 2024 no receipts are kept.")["dates"] == ("6 March 2024",)
    assert "dates" not in reasons("Since 2024-03-05 no receipts are kept.")


def test_names_and_polarity_are_named():
    """A name that no passage has; a denial that the best sentence does not share; a fall where it says rise."""
    assert reasons("Meals for Vermeer are paid.")["names"] == ("Vermeer",)
    assert reasons("Lodging is not paid up to 300 yuan a night.")["polarity"] == ("denial",)
    assert reasons("The dose reduces growth.", ["The dose increases growth."])["polarity"] == ("direction",)


@pytest.mark.parametrize(
    ("claim", "band"),
    [("住宿每晚上限是400元", "supported"), ("住宿每晚上限是500元", "not_found"), ("交通上限是800元", "not_found")],
)
def test_chinese_claims_are_held_to_chinese_passages(claim, band):
    """By runs of characters and by numbers."""
    assert support_of(claim, ["员工住宿每晚上限为 400 元。餐饮上限为 100 元。"]).band == band


def test_a_claim_that_repeats_its_question_is_held_by_its_answer():
    """The question's words are in both passages; only one has the answer."""
    claim = "军运会在哪个城市举办？ 武汉"
    right, wrong = ["第七届军运会在武汉举办。"], ["第七届军运会在成都举办。"]
    assert support_of(claim, right).score > 0.5 > support_of(claim, wrong).score


@given(st.text(max_size=40), st.lists(st.text(max_size=60), max_size=3))
def test_any_claim_and_passages_give_a_score_between_nought_and_one(claim, passages):
    """Equal at every repetition; the quote is the passage's own text."""
    found = support_of(claim, passages)
    assert 0.0 <= found.score <= 1.0
    assert found == support_of(claim, list(passages))
    if found.span is not None:
        assert passages[found.span.passage][found.span.start_char : found.span.end_char] == found.span.quote


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Backups run every night at 03:00.", "Backups run every night at 02:00 and are kept for 30 days."),
        ("Backups run at 2 p.m.", "Backups run at 02:00."),
        ("会议于下午3点开始。", "会议于上午3点开始。"),
        ("Connect to 10.0.0.2.", "Connect to 10.0.0.1."),
        ("Use version 1.2.4.", "Use version 1.2.3."),
        ("It uses port 0x1F91.", "It uses port 0x1F90."),
        ("It has half the size of the old one.", "It has a third the size of the old one."),
        ("The deadline is June.", "The deadline is July."),
        ("The temperature is minus 5 °C.", "The temperature is 5 °C."),
        ("员工每年享有两周带薪年假。", "员工每年享有十五天带薪年假。"),
        ("It can be undone.", "It cannot be undone."),
        ("It is the third release.", "It is the second release."),
        ("这是第三个版本。", "这是第二个版本。"),
        ("The build takes an hour.", "The build takes two hours."),
        ("Half of the servers failed.", "A third of the servers failed."),
        ("Revenue fell by 12 % in 2023.", "Revenue rose by 12 % to $4.2 million in 2023."),
    ],
)
def test_what_is_exact_must_be_the_same(claim, passage):
    """A time, a version, an address, a part, a month, a sign, a denial, a direction: one wrong is not supported."""
    found = support_of(claim, [passage])
    assert found.band != "supported"
    assert {reason.code for reason in found.reasons} - {"terms"}


def test_the_minutes_of_a_time_of_day_are_no_number():
    """Of a clock nothing bears a count."""
    passage = "Backups run at 02:30.\n\n| Plan | Seats | Price |\n|---|---|---|\n| Pro | 14 | 25 EUR |\n"
    assert support_of("The Pro plan has 14 seats for 25 EUR.", [passage]).band == "supported"
    support = support_of("The Pro plan has 14 seats for 30 EUR.", [passage])
    assert (support.band, [reason.code for reason in support.reasons]) == ("partial", ["numbers"])
    assert support_of("Backups run at 2:30 am.", [passage]).band == "supported"


def test_the_span_of_what_a_table_says_is_its_row():
    """The first row says what the cells of the others are: the row counts with it, not a sentence of like words."""
    passage = (
        "| Plan | Seats | Price |\n|---|---|---|\n| Free | 3 | 0 EUR |\n| Pro | 14 | 25 EUR |\n\n"
        "The Pro plan includes support within 24 hours.\n"
    )
    assert support_of("The Pro plan has 14 seats.", [passage]).span.quote.strip() == "| Pro | 14 | 25 EUR |"
    assert support_of("The Pro plan includes support.", [passage]).span.quote.startswith("The Pro plan")


def test_one_time_of_day_in_two_notations_is_one():
    """Nothing exact is missing."""
    assert not {"numbers", "dates"} & set(reasons("The meeting is at 14:00.", ["The meeting is at 2 p.m."]))
    assert "numbers" not in reasons("销售额增长百分之十二。", ["销售额增长12%。"])


TEAM = "The team has two developers and three testers."
PAID = "Meals are paid up to 100 yuan a day, lodging up to 300 yuan a night."


@pytest.mark.parametrize(
    ("claim", "passage", "swapped"),
    [
        ("The team has three developers and two testers.", TEAM, ("three", "two")),
        ("There are three developers.", TEAM, ("three",)),
        ("Lodging is paid up to 100 yuan a night.", PAID, ("100 yuan",)),
        ("Meals are paid up to 300 yuan.", PAID, ("300 yuan",)),
        ("团队有三名开发人员和两名测试人员。", "团队有两名开发人员和三名测试人员。", ("三名", "两名")),
        ("住宿上限为每晚100元。", "住宿上限为每晚400元，餐饮上限为每天100元。", ("100元",)),
        ("Restores run at 02:00.", "Backups run at 02:00 and restores run at 03:00.", ("02:00",)),
        ("There are 3 developers.", "- developers: 2\n- testers: 3\n- writers: 4", ("3",)),
        (
            "A taxi is paid up to 300 yuan.",
            "| Bed | 300 yuan |\n| Meal | 100 yuan |\n| Taxi | 50 yuan |",
            ("300 yuan",),
        ),
        ("Alpha has 7 items.", "Alpha has 5 items. Beta has 7 items.", ("7",)),
        ("Version 3 listens on port 8080.", "Version 2 listens on port 8080, version 3 on port 9090.", ("3", "8080")),
    ],
)
def test_a_right_number_of_the_wrong_thing_is_named(claim, passage, swapped):
    """The passage holds the number, and gives another one for what the claim speaks of."""
    assert reasons(claim, [passage])["numbers"] == swapped
    assert support_of(claim, [passage]).band != "supported"


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("There are three testers and two developers.", TEAM),
        ("Up to 300 yuan a night are paid for lodging.", PAID),
        ("5 servers failed.", "5 of the 10 servers failed."),
        ("The company grew to 700 staff.", "The company had 500 staff in 2019. It grew to 700 staff by 2021."),
        ("Version 3 listens on port 9090.", "Version 2 listens on port 8080, version 3 on port 9090."),
        ("In 1882 the city made a fire service.", "In 1882, the city made a fire service, and in 1974 an ambulance."),
        ("The third stage takes an hour.", "Stage one takes 2 hours. The 3rd stage takes one hour."),
        ("Half of them failed.", "50 % of them failed."),
        ("It costs 300 yuan a week.", "It costs 300 yuan weekly."),
    ],
)
def test_a_right_number_of_the_right_thing_is_not(claim, passage):
    """In another order, with words left out, in another notation."""
    assert not {"numbers", "dates"} & set(reasons(claim, [passage]))


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("日志保留三十天。", "日志保留30天。"),
        ("日志保留30天。", "日志保留三十天。"),
        ("Logs are kept for thirty days.", "Logs are kept for 30 days."),
        ("The budget is 1,200,000 euros.", "The budget is 1.2 million euros."),
        ("It opened on 5 March 2024.", "It opened on 2024-03-05."),
        ("It starts at 2 p.m.", "It starts at 14:00."),
    ],
)
def test_a_value_in_another_notation_is_no_other_word(claim, passage):
    """Supported, and nothing is missing."""
    found = support_of(claim, [passage])
    assert (found.band, found.reasons) == ("supported", ())


PIECES = st.lists(
    st.sampled_from(
        ["meals", "Anna", "not", "30天", "三十天", "thirty", "12 %", "网关", "more", "May", "2019", ",", ".", "|"]
    ),
    max_size=12,
).map(" ".join)


@given(PIECES, st.lists(PIECES, max_size=3))
def test_what_is_not_supported_has_a_reason(claim, passages):
    """Also where each of its words is in some passage."""
    found = support_of(claim, passages)
    assert found.band == "supported" or found.reasons


KEPT = "Backups are kept for 14 days. Logs are kept for 30 days. The disk holds 1.5 TB."
SERVER = "The server accepts at most 250 connections. Requests time out after 30 seconds."
FOUNDED = "Heron was founded on 12 March 2014 in Lisbon. The director left in 2021."
LIMITS = "- Requests per minute: 600\n- Upload size: 25 MB\n- Sessions per user: 4"
HISTORY = "Revenue rose by 12 % in 2019 and fell by 7 % in 2020. Staff grew from 140 to 215 between 2018 and 2022."
BACKUPS = "Restores are tested once a quarter. Telemetry is disabled by default. The default log level is `info`."


@pytest.mark.parametrize(
    ("claim", "passage", "code"),
    [
        ("Requests time out after 250 seconds.", SERVER, "numbers"),
        ("Backups are kept for 14 weeks.", KEPT, "units"),
        ("Backups are kept for two days.", KEPT, "numbers"),
        ("Logs are kept for two weeks.", KEPT, "numbers"),
        ("The disk holds 1.5 GB.", KEPT, "units"),
        ("The server accepts 30 connections.", SERVER, "numbers"),
        ("Heron was founded in 2021.", FOUNDED, "dates"),
        ("公司成立于2021年。", "公司成立于2014年3月12日。经理2021年离开。", "dates"),
        ("Revenue fell by 12 % in 2019.", HISTORY, "polarity"),
        ("Staff grew from 215 to 140.", HISTORY, "numbers"),
        ("Restores are tested once a month.", BACKUPS, "numbers"),
        ("Telemetry is enabled by default.", BACKUPS, "polarity"),
        ("The default log level is `debug`.", BACKUPS, "names"),
        (
            "The company was founded in 2004.",
            "The firm was founded in 1998. It opened an office in Rome in 2004.",
            "dates",
        ),
        ("It times out after 5 minutes.", "| Name | Timeout (s) |\n|---|---|\n| search | 5 |", "units"),
        ("The limit is 10 requests per second.", "The limit is 10 requests per minute.", "numbers"),
        ("每分钟最多10次。", "每小时最多10次。", "numbers"),
    ],
)
def test_a_turn_of_what_is_said_is_named(claim, passage, code):
    """A direction, the ends of a range, a rate, a switch, a name, what `it` is, what a number counts, a full date."""
    found = support_of(claim, [passage])
    assert found.band != "supported"
    assert code in {reason.code for reason in found.reasons}


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The server accepts up to 250 connections.", SERVER),
        ("Backups are kept for two weeks.", KEPT),
        ("The disk holds 1,500 GB.", KEPT),
        ("保修期为两年。", "保修期为24个月。"),
        ("Heron was founded in 2014.", FOUNDED),
        ("Each user may have at most 4 sessions.", LIMITS),
        ("At most 600 requests per minute are allowed.", LIMITS),
        ("Revenue rose by 12 % in 2019.", HISTORY),
        ("Staff grew from 140 to 215.", HISTORY),
        ("Search times out after 5 seconds.", "| Name | Timeout (s) |\n|---|---|\n| search | 5 |"),
    ],
)
def test_what_only_joins_a_name_and_a_value_is_not_missing(claim, passage):
    """Verbs, measures of how many, and the unit of a column."""
    assert support_of(claim, [passage]).band == "supported"


SIGNED = "The report of 7 June 2024 was signed. Meals are paid."
MEETING = "会议于2024年5月12日召开，员工参加。"
RETENTION = "Logs are kept for 30 days.\n\n```yaml\nlogs_timeout: 30s\n```"
REFUNDS = "Refunds are paid within 14 days, but shipping costs are not refunded."
HELMET = "Although it is not required, a helmet is recommended."
TAXI = "员工可以报销打车费用，但不能报销停车费。"
BUDGETS = "| 部门 | 预算（万元） | 人数 |\n|---|---|---|\n| 市场 | 120 | 8 |\n| 研发 | 300 | 25 |"
DISKS = "| Host | Disk, GB | RAM, GB |\n|---|---|---|\n| alpha | 500 | 16 |\n| beta | 900 | 32 |"
SEATS = "| Plan | Seats | Budget |\n|---|---|---|\n| Small | 4 | 100 EUR |\n| Big | 20 | 900 EUR |"
OWNERS = "| Service | Port | Owner |\n|---|---|---|\n| api | 8080 | Anna |\n| db | 5432 | Bert |\n| web | 80 | Anna |"
STATED = "Anna owns the api service. Bert owns the db service."


@pytest.mark.parametrize(
    ("right", "wrong", "passage"),
    [
        ("The report was signed in 2024.", "Meals are paid up to 2024 yuan.", SIGNED),
        ("The report was signed on June 7.", "Meals are paid up to 7 dollars.", SIGNED),
        ("The report was signed in June.", "The report was signed in July.", SIGNED),
        ("The report was signed on 2024-06-07.", "The report has 7 pages.", SIGNED),
        ("会议在2024年5月12日召开。", "会议有12人参加。", MEETING),
        ("It ends on 2024-01-31.", "It ends on 2024-01-30.", "It ends on January 31st, 2024."),
        ("It ends on 31.01.2024.", "It ends on 30.01.2024.", "It ends on 31 January 2024."),
        ("It ends on 1/31/2024.", "It ends on 1/30/2024.", "It ends on 31 January 2024."),
        ("The deadline is 2024-01.", "The deadline is 2024-02.", "The deadline is in January 2024."),
        ("The deadline is in June.", "The deadline is in July.", "The deadline is 2024-06-07."),
        ("Logs are kept for 30 days.", "Logs are kept for 30 minutes.", RETENTION),
        ("Refunds are paid within 14 days.", "Refunds are not paid within 14 days.", REFUNDS),
        ("Shipping costs are not refunded.", "Shipping costs are refunded.", REFUNDS),
        ("A helmet is recommended.", "A helmet is required.", HELMET),
        ("员工可以报销打车费用。", "员工不能报销打车费用。", TAXI),
        ("员工不能报销停车费。", "员工可以报销停车费。", TAXI),
        ("市场的预算是120万元。", "市场的预算是120元。", BUDGETS),
        ("研发的预算为300万元。", "研发的预算为25万元。", BUDGETS),
        ("The disk of alpha has 500 GB.", "The disk of alpha has 16 GB.", DISKS),
        ("The Small plan has a budget of 100 EUR.", "The Small plan has a budget of 4 EUR.", SEATS),
        ("The Small plan has 4 seats.", "The Small plan costs 4 EUR.", SEATS),
        ("Anna owns api and web.", "Anna owns api and db.", OWNERS),
        ("Anna owns the api and Bert owns the db.", "Bert owns db and web.", OWNERS),
        ("Anna owns the api service, Bert the db service.", "Anna owns api and db.", STATED),
        ("Use version 2.10 of the library.", "Use version 2.1 of the library.", "Use version 2.10 of the library."),
        ("It needs Python 3.1.", "It needs Python 3.10.", "It needs Python 3.1."),
        ("Release v2.10 is supported.", "Release v2.1 is supported.", "Release v2.10 is supported."),
        ("The price is 2.50 dollars.", "The price is 2.05 dollars.", "The price is 2.5 dollars."),
        ("The job runs two times a day.", "The job runs once a day.", "The job runs twice a day."),
        ("Interest is paid every month.", "Interest is paid yearly.", "Interest is paid monthly."),
        ("Rates rose by 3 percentage points.", "Rates rose by 3 %.", "Rates rose by 3 percentage points."),
        ("利率上升了3个百分点。", "利率上升了3%。", "利率上升了3个百分点。"),
        (
            "It was renewed for a fifth season.",
            "It was renewed for a sixth season.",
            "It was renewed for a fifth season.",
        ),
        ("It took 20 years.", "It took 10 years.", "It took two decades."),
        ("Telemetry is not enabled.", "Telemetry is not disabled.", "Telemetry is disabled."),
        ("Pets are prohibited inside.", "Pets are not prohibited inside.", "Pets are not allowed inside."),
        ("八成的用户满意。", "七成的用户满意。", "80%的用户满意。"),
        (
            "Two thirds of the votes are needed.",
            "A third of the votes is needed.",
            "三分之二 (two thirds) of the votes are needed.",
        ),
        ("There are 30 shops.", "The fee is 30 euros.", "The fee is paid in euros. There are 30 shops."),
        ("Use it if x > 5.", "Use it if x < 5.", "Use it if x > 5."),
        ("The file has 5 mb.", "The file has 5 Mb.", "The file has 5 MB."),
        ("The link carries 100 Mbps.", "The link carries 100 MB/s.", "The link carries 100 Mb/s."),
        ("Wash your hands before the meal.", "Wash your hands after the meal.", "Wash your hands before the meal."),
        ("No more than 5 people may attend.", "At least 5 people may attend.", "At most 5 people may attend."),
        ("The vote needs at least 50 %.", "The vote needs at most 50 %.", "The vote needs 50 % or more."),
        ("价格在100元以下。", "价格在100元以上。", "价格在100元以下。"),
        ("Open from 09:00 to 17:00.", "Open from 17:00 to 09:00.", "Open from 09:00 to 17:00."),
        ("Flights go from Rome to Oslo.", "Flights go from Oslo to Rome.", "Flights go from Rome to Oslo every day."),
        ("Flights go to Oslo from Rome.", "Flights go to Rome from Oslo.", "Flights go from Rome to Oslo every day."),
        ("列车从上海开往北京。", "列车从北京开往上海。", "列车从上海开往北京。"),
        ("王小明负责所有费用的审批和支付。", "王大明负责所有费用的审批和支付。", "王小明负责所有费用的审批和支付。"),
        (
            "Contractors sign a form.",
            "Contractors receive a laptop.",
            "Contractors sign a form on the first day. Employees receive a laptop.",
        ),
        (
            "Staff pay for parking.",
            "Visitors pay for parking.",
            "Visitors enter by the north gate. Staff pay for parking.",
        ),
        ("The water is not safe to drink.", "The water is safe to drink.", "The water is unsafe to drink."),
        ("The answer is incomplete.", "The answer is complete.", "The answer is incomplete."),
    ],
)
def test_what_is_turned_is_told_from_what_is_said_otherwise(right, wrong, passage):
    """Parts of dates, units, shares, limits, ways, contraries: the one claim holds in another notation or order."""
    assert support_of(right, [passage]).band == "supported"
    assert support_of(wrong, [passage]).band != "supported"
