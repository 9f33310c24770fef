"""Values and names that a claim takes from the wrong row, item, setting or sentence, and those it takes rightly."""

import pytest

from indexerd.grounding.support import support_of

SOURCES = {
    "parts that leave out what the first says": (
        "The vaccine was approved on 3 June 2020 in Canada and on 17 August 2020 in Japan. The free tier includes 3 "
        "projects, the pro tier includes 25 projects and the team tier includes an unlimited number of projects."
    ),
    "cells that deny": "| Event | Severity |\n|---|---|\n| Disk full | high |\n| Login failed | low |\n",
    "rows without bars at their edges": (
        "Node | CPU | Memory\n--- | --- | ---\nalpha | 8 cores | 32 GB\nbeta | 16 cores | 64 GB\n"
    ),
    "settings of a shell": "```bash\nexport CACHE_SIZE=512\nexport QUEUE_SIZE=2048\n```",
    "addresses": "```ini\n[http]\nlisten = 0.0.0.0:8080\nworkers = 4\n[grpc]\nlisten = 0.0.0.0:9090\nworkers = 8\n```",
    "teams": (
        "Maria joined in March 2019; John joined in July 2021. Incidents of severity 1 must be answered within 15 "
        "minutes, those of severity 2 within 4 hours."
    ),
    "units in headings": (
        "| 型号 | 重量（千克） | 价格（元） |\n|---|---|---|\n| A100 | 2.5 | 1999 |\n| B200 | 3.8 | 2999 |\n\n"
        "充电时间约两小时。A100支持快充，B200不支持快充。"
    ),
    "ports of animals": ("| Animal | Port |\n|---|---|\n| hippo | 9001 |\n| rhino | 9002 |\n| zebra | 9003 |\n"),
    "services": (
        "# Services\n"
        "\n"
        "| Service | Port | Timeout | Owner |\n"
        "|---------|------|---------|-------|\n"
        "| api | 8080 | 30 s | Anna |\n"
        "| db  | 5432 | 60 s | Bert |\n"
        "| cache | 6379 | 5 s | Cleo |\n"
    ),
    "plans": (
        "| Plan | Price per month | Storage | Users |\n"
        "|:--|--:|--:|--:|\n"
        "| Basic | $5 | 10 GB | 1 |\n"
        "| Pro | $12 | 100 GB | 5 |\n"
        "| Team | $40 | 1 TB | 50 |\n"
    ),
    "regions by year": ("| Region | 2022 | 2023 |\n|---|---|---|\n| North | 120 | 150 |\n| South | 90 | 70 |\n"),
    "services in Chinese": (
        "| 服务 | 端口 | 负责人 |\n|---|---|---|\n| 网关 | 8080 | 张三 |\n| 数据库 | 5432 | 李四 |\n"
    ),
    "list": ("- hippo 9001\n- rhino 9002\n- zebra 9003\n"),
    "list of sentences": ("* **hippo**: listens on port 9001\n* **rhino**: listens on port 9002\n"),
    "two sentences": ("The hippo listens on port 9001. The rhino listens on port 9002."),
    "two parts": ("hippo 9001, rhino 9002"),
    "sentences with parts": ("Hippo has four legs and weighs 1500 kg. Rhino has four legs and weighs 2300 kg."),
    "sentences with pronouns": (
        "The staging server runs version 1.4.2. It was updated on 3 May 2024.\n"
        "\n"
        "The production server runs version 1.3.9. It was updated on 1 April 2024."
    ),
    "Chinese sentences": ("网关监听8080端口。数据库监听5432端口。"),
    "Chinese list": ("- 网关：8080\n- 数据库：5432\n"),
    "Chinese parts": ("一线城市住宿每晚不超过500元，二线城市住宿每晚不超过350元，其他城市不超过250元。"),
    "numbered list": ("1. Install: 10 minutes\n2. Configure: 20 minutes\n3. Test: 30 minutes\n"),
    "settings with sections": ("```toml\n[api]\nport = 8080\ntimeout = 30\n[db]\nport = 5432\ntimeout = 60\n```"),
    "settings": ("```\nmax_conn = 100\nmin_conn = 5\n```"),
    "owners": ("Anna owns the api service. Bert owns the db service."),
    "options": (
        "| Option | Type | Default | Required |\n"
        "|---|---|---|---|\n"
        "| `port` | integer | 8080 | yes |\n"
        "| `host` | string | localhost | no |\n"
        "| `verbose` | boolean | false | no |\n"
    ),
    "offices": (
        "## Offices\n"
        "\n"
        "| City | Opened | Staff | Manager |\n"
        "|---|---|---|---|\n"
        "| Berlin | 2012 | 140 | Dr. Klein |\n"
        "| Paris | 2015 | 85 | Mme. Blanc |\n"
        "| Oslo | 3 May 2019 | 12 | Ms. Dahl |\n"
    ),
    "expenses in Chinese": (
        "## 费用标准\n"
        "\n"
        "| 城市 | 住宿上限 | 餐饮上限 |\n"
        "|---|---|---|\n"
        "| 北京 | 600元 | 120元 |\n"
        "| 成都 | 400元 | 100元 |\n"
        "| 其他 | 300元 | 80元 |\n"
    ),
    "expenses listed in Chinese": ("- 北京：每晚600元\n- 成都：每晚400元\n"),
    "openings": ("Berlin was opened in 2012 by Dr. Klein. Paris was opened in 2015 by Mme. Blanc."),
    "log plans": (
        "The free plan keeps logs for 7 days. The paid plan keeps logs for 90 days. Both plans allow exports."
    ),
    "names in Chinese": ("张三负责网关，李四负责数据库。"),
    "sales in Chinese": ("华北区上半年销售额为120万元，华南区上半年销售额为95万元。"),
    "settings in YAML": ("```yaml\napi:\n  port: 8080\n  replicas: 3\ndb:\n  port: 5432\n  replicas: 2\n```"),
    "settings in JSON": ('```json\n{"retries": 5, "timeout": 30}\n```'),
    "quotations": ('> Alice said: "we ship on 3 May". Bob said: "we ship on 9 May".'),
    "ordinals": ("The first server has 16 GB of memory and the second server has 32 GB of memory."),
    "headings": ("## Staging\n\nThe port is 8080.\n\n## Production\n\nThe port is 9090.\n"),
}

RIGHT = {
    "parts that leave out what the first says": [
        "The vaccine was approved in Japan on 2020-08-17.",
        "The pro tier includes 25 projects.",
    ],
    "cells that deny": ["A failed login has low severity.", "A full disk has high severity."],
    "rows without bars at their edges": ["alpha has 8 cores and 32 GB of memory.", "beta has 64 GB of memory."],
    "settings of a shell": ["CACHE_SIZE is 512.", "QUEUE_SIZE is set to 2,048."],
    "addresses": ["The http server listens on port 8080 with 4 workers.", "grpc has 8 workers."],
    "teams": ["John joined in 2021.", "Severity 1 incidents must be answered within 15 minutes."],
    "units in headings": [
        "A100的重量是2.5千克。",
        "A100重2.5公斤。",
        "充电时间约2小时。",
        "A100支持快充。",
        "B200不支持快充。",
    ],
    "ports of animals": [
        "rhino port 9002",
        "The rhino listens on port 9002.",
    ],
    "services": [
        "The api listens on port 8080.",
        "The db listens on port 5432.",
        "The db has a timeout of 60 s.",
        "The timeout of cache is 5 s.",
        "Anna owns the api service.",
        "The owner of cache is Cleo.",
        "The db is owned by Bert.",
    ],
    "plans": [
        "The Pro plan costs $12 per month.",
        "The Pro plan has 100 GB of storage.",
        "The Team plan allows 50 users.",
        "The Team plan costs $40 per month and includes 1 TB of storage.",
    ],
    "regions by year": [
        "North had 150 in 2023.",
        "South had 70 in 2023.",
        "In 2022 South had 90.",
    ],
    "services in Chinese": [
        "网关监听8080端口。",
        "数据库的端口是5432。",
        "网关由张三负责。",
    ],
    "list": [
        "rhino 9002",
    ],
    "list of sentences": [
        "The rhino listens on port 9002.",
    ],
    "two sentences": [
        "The rhino listens on port 9002.",
        "The hippo listens on port 9001.",
    ],
    "two parts": [
        "rhino 9002",
        "hippo 9001",
    ],
    "sentences with parts": [
        "The rhino weighs 2300 kg.",
        "The hippo weighs 1500 kg.",
    ],
    "sentences with pronouns": [
        "The production server runs version 1.3.9.",
        "The staging server was updated on 3 May 2024.",
    ],
    "Chinese sentences": [
        "网关监听8080端口。",
    ],
    "Chinese list": [
        "网关的端口是8080。",
    ],
    "Chinese parts": [
        "一线城市住宿每晚不超过500元。",
        "二线城市住宿每晚不超过350元。",
        "其他城市住宿每晚不超过250元。",
    ],
    "numbered list": [
        "Configuring takes 20 minutes.",
        "Test takes 30 minutes.",
    ],
    "settings with sections": [
        "The port of the db is 5432.",
    ],
    "settings": [
        "max_conn is 100.",
    ],
    "owners": [
        "Anna owns the api service.",
    ],
    "options": [
        "The option port is an integer and is required.",
        "The default of port is 8080.",
        "host is a string.",
        "The host option defaults to localhost.",
        "The host option is not required.",
    ],
    "offices": [
        "The Berlin office was opened in 2012.",
        "Dr. Klein manages the Berlin office.",
        "The Paris office has 85 staff.",
        "The Oslo office opened on 3 May 2019.",
        "The Oslo office has 12 staff and is managed by Ms. Dahl.",
        "Paris has 85 staff, Berlin 140.",
    ],
    "expenses in Chinese": [
        "北京的住宿上限为600元。",
        "北京的餐饮上限为120元。",
        "成都住宿上限是每晚400元。",
        "成都住宿上限400元，餐饮上限100元。",
    ],
    "expenses listed in Chinese": [
        "北京每晚600元。",
    ],
    "openings": [
        "Paris was opened by Mme. Blanc.",
        "In 2015 Paris was opened.",
    ],
    "log plans": [
        "The paid plan keeps logs for 90 days.",
        "Logs are kept for 7 days on the free plan.",
    ],
    "names in Chinese": [
        "张三负责网关。",
    ],
    "sales in Chinese": [
        "华南区上半年销售额为95万元。",
        "华北区上半年的销售额是120万元。",
    ],
    "settings in YAML": [
        "The api has 3 replicas.",
        "The db runs on port 5432.",
    ],
    "settings in JSON": [
        "retries is 5.",
    ],
    "quotations": [
        "Alice said they ship on 3 May.",
    ],
    "ordinals": [
        "The second server has 32 GB of memory.",
        "The first server has 16 GB of memory.",
    ],
    "headings": [
        "In production the port is 9090.",
        "The staging port is 8080.",
    ],
}

WRONG = {
    "parts that leave out what the first says": [
        "The vaccine was approved in Japan on 3 June 2020.",
        "The team tier includes 25 projects.",
        "The free tier includes 25 projects.",
    ],
    "cells that deny": ["A failed login has high severity."],
    "rows without bars at their edges": ["beta has 32 GB of memory.", "alpha has 16 cores."],
    "settings of a shell": ["CACHE_SIZE is 2048."],
    "addresses": ["grpc listens on 0.0.0.0:8080.", "The http server has 8 workers."],
    "teams": [
        "John joined in 2019.",
        "Severity 1 incidents must be answered within 4 hours.",
        "Severity 2 incidents must be answered within 15 minutes.",
    ],
    "units in headings": ["A100的重量是3.8千克。", "B200的价格是1999元。", "A100不支持快充。", "B200支持快充。"],
    "ports of animals": [
        "rhino port 9001",
        "The rhino listens on port 9001.",
    ],
    "services": [
        "The api listens on port 5432.",
        "The db has a timeout of 30 s.",
        "The timeout of cache is 60 s.",
        "Anna owns the db service.",
        "The owner of cache is Bert.",
        "The port of api is 30.",
    ],
    "plans": [
        "The Pro plan costs $5 per month.",
        "The Basic plan has 100 GB of storage.",
        "The Team plan allows 5 users.",
        "The Team plan costs $12 per month and includes 1 TB of storage.",
    ],
    "regions by year": [
        "North had 120 in 2023.",
        "South had 150 in 2023.",
    ],
    "services in Chinese": [
        "网关监听5432端口。",
        "数据库的端口是8080。",
        "网关由李四负责。",
    ],
    "list": [
        "rhino port 9001",
    ],
    "list of sentences": [
        "The rhino listens on port 9001.",
    ],
    "two sentences": [
        "rhino port 9001",
        "The rhino listens on port 9001.",
    ],
    "two parts": [
        "rhino port 9001",
        "rhino 9001",
    ],
    "sentences with parts": [
        "The rhino weighs 1500 kg.",
    ],
    "sentences with pronouns": [
        "The production server runs version 1.4.2.",
        "The staging server was updated on 1 April 2024.",
    ],
    "Chinese sentences": [
        "网关监听5432端口。",
        "数据库监听8080端口。",
    ],
    "Chinese list": [
        "网关的端口是5432。",
        "数据库的端口是8080。",
    ],
    "Chinese parts": [
        "一线城市住宿每晚不超过350元。",
        "二线城市住宿每晚不超过500元。",
        "其他城市住宿每晚不超过350元。",
    ],
    "numbered list": [
        "Configure takes 30 minutes.",
        "Test takes 10 minutes.",
    ],
    "settings with sections": [
        "The port of the db is 8080.",
    ],
    "settings": [
        "max_conn is 5.",
    ],
    "owners": [
        "Anna owns the db service.",
    ],
    "options": [
        "The option host is required.",
        "The default of host is 8080.",
        "host is an integer.",
        "The port option defaults to localhost.",
    ],
    "offices": [
        "The Berlin office was opened in 2015.",
        "Dr. Klein manages the Paris office.",
        "The Paris office has 140 staff.",
        "The Berlin office opened on 3 May 2019.",
        "The Oslo office has 12 staff and is managed by Dr. Klein.",
        "Paris has 140 staff, Berlin 85.",
    ],
    "expenses in Chinese": [
        "北京的住宿上限为400元。",
        "北京的餐饮上限为600元。",
        "成都住宿上限600元，餐饮上限100元。",
    ],
    "expenses listed in Chinese": [
        "北京每晚400元。",
        "成都的住宿是每晚600元。",
    ],
    "openings": [
        "Paris was opened by Dr. Klein.",
        "Berlin was opened in 2015.",
    ],
    "log plans": [
        "The paid plan keeps logs for 7 days.",
        "Logs are kept for 90 days on the free plan.",
    ],
    "names in Chinese": [
        "李四负责网关。",
        "数据库由张三负责。",
    ],
    "sales in Chinese": [
        "华南区上半年销售额为120万元。",
    ],
    "settings in YAML": [
        "The db has 3 replicas.",
        "The db runs on port 8080.",
    ],
    "settings in JSON": [
        "timeout is 5.",
    ],
    "quotations": [
        "Alice said they ship on 9 May.",
    ],
    "ordinals": [
        "The first server has 32 GB of memory.",
    ],
    "headings": [
        "In production the port is 8080.",
    ],
}


def pairs(claims):
    return [pytest.param(claim, SOURCES[name], id=claim) for name, said in claims.items() for claim in said]


@pytest.mark.parametrize(("claim", "source"), pairs(RIGHT))
def test_a_claim_is_borne_by_the_row_item_setting_or_sentence_that_holds_it(claim, source):
    """Whatever verb joins what stands in cells."""
    assert support_of(claim, [source]).band == "supported"


@pytest.mark.parametrize(("claim", "source"), pairs(WRONG))
def test_a_claim_that_mixes_two_of_one_shape_is_not_borne(claim, source):
    """Each of its words and values is there, but in different rows, items, settings or sentences."""
    found = support_of(claim, [source])
    assert found.band != "supported"
    assert found.reasons or found.band == "not_found"
