"""English phrases that instruct a model.

Owns: the English list.
Knows nothing of: how text is searched or prepared.
Invariants: those of `phrases.py`.
Purity: pure.
See: docs/threat-model.md (safety gate).

Written from how such texts work, not from collections of them: they void what the model was told, ask for what it was
told, give it another part to play, call it by name, hide from its user, dictate its words, set it a new task, or steer
its reply.
"""

from indexerd.access.phrases import Phrase

WORDS = {
    "void": ("ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?"),
    "cancel": (
        "override|overwrite|bypass|discard|drop|delete|erase|skip|cancel|change|violate|break|abandon|neglect|overlook"
    ),
    "earlier": (
        "previous|previously|prior|above|preceding|earlier|foregoing|former|existing|original|initial|past|old"
    ),
    "told": (
        "instructions?|prompts?|directions?|directives?|guidelines?|guidance|commands?|orders?|rules|tasks?"
        "|assignments?|statements?|messages?|information|context|documents?|articles?|texts?|conversations?"
        "|training|programming|input|content"
    ),
    "orders": ("instructions?|system prompts?|prompts?|guidelines|orders|programming|training|rules you"),
    "model": (
        r"a\.?i\.?|llms?|(?:large )?language models?|chat ?bots?|chatgpt|gpt|assistants?|ai (?:agent|model|system"
        "|assistant)s?"
    ),
    "say": ("say|answer|reply|respond|output|print|write|tell me|state|return"),
    "reply": ("response|responses|reply|replies|answer|answers"),
    "add": (
        "add|append|attach|include|insert|integrate|incorporate|introduce|embed|weave|modify|alter|adjust|encode"
        "|convert|translate|replace|rearrange|reverse|scramble|remove|misspell|jumble|group|swap|mix|deliver|craft"
        "|phrase|express|render|present|write|provide|give|use|begin|end|start|conclude|enhance|mention|suggest"
        "|promote|highlight|advertise|recommend|employ|utili[sz]e|substitute|shuffle|format|encrypt|spell|combine"
        "|supplement|enrich|complement"
    ),
}

PHRASES = (
    Phrase(
        "override",
        "ignor|disregard|forget",
        r"{void} ~ {earlier} ~ {told}\b",
    ),
    Phrase(
        "override",
        "ignor|disregard|forget",
        r"{void} ~ (?:all|any|every|your|the system|the developer'?s?) ~ {orders}\b",
    ),
    Phrase(
        "override",
        "ignor|disregard|forget",
        r"{void} (?:all|any)(?: of)?(?: the)? (?:provided |given )?(?:documents?|articles?|context)\b",
    ),
    Phrase(
        "override",
        "ignor|disregard|forget",
        "{void}(?: about)? (?:everything|anything|what|whatever|all(?: of)?(?: this| that)?) (?:above|so far"
        "|previously|you know|you(?:'ve| have)? (?:learned|learnt|been told|were told)|i(?: have|'ve)? (?:said|told"
        r"|wrote|say)|we(?:'ve| have)? (?:talked|discussed|said)|(?:before|prior to|up to) (?:that|this|now|here))\b",
    ),
    Phrase(
        "override",
        "ignor|disregard|forget",
        "{void}(?: about)? (?:everything|anything|what|whatever) ~ (?:above|so far|previously|you know|you(?:'ve"
        "| have)? (?:learned|learnt|been told|were told)|i(?: have|'ve)? (?:said|told|wrote|say)|we(?:'ve| have)"
        r"? (?:talked|discussed|said)|(?:before|prior to|up to) (?:that|this|now|here))\b",
    ),
    Phrase(
        "override",
        "ignor|disregard|forget",
        "{void} ~ (?:instructions?|prompts?|rules|guidelines|orders) ~ (?:you (?:were|have been|had|got|received)"
        r"|given to you|your (?:developer|creator|system))\b",
    ),
    Phrase(
        "override",
        "forget everything|forget about",
        r"<(?:now |then |but |and |please |so |just )?forget(?: about)? everything\b(?! (?:about|else|on|in|at|for"
        r"|that|to|we|i)\b)",
    ),
    Phrase(
        "override",
        "forget everything",
        r"forget everything,?(?: and)? (?:write|say|print|just|now)\b",
    ),
    Phrase(
        "override",
        "ignor|disregard|forget",
        "{void}(?: the)?(?: all)?(?: of the)? above,?(?: and| prompt| text| directions| but| say|[.:])",
    ),
    Phrase(
        "override",
        "nstruct|prompt",
        r"{cancel} ~ (?:your|all your|previous|prior|preceding|earlier|system) ~ (?:prompts?|instructions)\b",
    ),
    Phrase(
        "override",
        "nstruct|prompt",
        "(?:do not|don't|never|stop) (?:follow|following|obey|obeying|listen to|listening to|heed) ~~ (?:previous"
        r"|prior|above|your|system|original) ~ (?:instructions?|prompts?)\b",
    ),
    Phrase(
        "override",
        "your safety|your guard|your restric|your content",
        r"{cancel} ~ your (?:safety|guard ?rails?|restrictions|content (?:policy|policies|filters?))\b",
    ),
    Phrase(
        "override",
        "ts provided|ed documents|es provided",
        "(?:do not|don'?n?t|without) (?:look|looking|answer|use|using|consult) ~~ (?:documents provided"
        r"|provided documents|articles provided)\b",
    ),
    Phrase(
        "reveal",
        "prompt",
        "(?:reveal|show|print|output|repeat|display|return|tell|give|leak|share|expose|write|say|summari[sz]e"
        r"|translate|what) ~~ (?:system prompts?|prompt[\s-]?texts?|(?:your|the|its) (?:(?:own|full|entire|whole"
        r"|initial|original|hidden|secret|exact) )?prompts?(?: above| verbatim| text|[.?!]|\Z)|(?:initial|original"
        r"|hidden|secret) prompts?)\b",
    ),
    Phrase(
        "reveal",
        "your ",
        "(?:reveal|show|print|output|repeat|display|return|tell(?: me)?|give|leak|share|expose|what(?: is| are| was"
        "| were)?) ~ your (?:(?:own|full|entire|initial|original|hidden|secret|exact|first) )?(?:instructions"
        r"|prompts?|embeddings|system message|guidelines)\b",
    ),
    Phrase(
        "reveal",
        "prompt|nstruct",
        r"copy of the (?:full |whole |entire |system )?(?:prompt|instructions)\b",
    ),
    Phrase(
        "reveal",
        "prompt",
        r"(?:written|said|stated) ~ (?:beginning|start|top) of (?:this|the) prompt\b",
    ),
    Phrase(
        "reveal",
        "text|words|word|everything|lines|message + above",
        "<(?:please |now )?(?:repeat|print|output|return|spell ?check|correct) (?:all |everything |the |all of the "
        r"|the entire )?(?:words?|text|everything|lines|message) above\b",
    ),
    Phrase(
        "role",
        "you to ",
        r"i (?:want|need|would like|'d like) you to(?: now)? (?:act|pretend|behave|roleplay|role-play|play)\b",
    ),
    Phrase(
        "role",
        "act as ",
        "<(?:please |now |human: )?(?:you )?(?:now )?(?:act|behave) as (?:if|though|an? |the |two )"
        r"(?!gateway|proxy|bridge)[^.!?:;\n`]{1,60}(?:[.:,]| and )(?:\s|\Z)",
    ),
    Phrase(
        "role",
        "you are now|you're now",
        "you(?: are|'re) now (?:an? |the |my |called |named |acting |playing |going to (?:act|play))(?!member|part"
        "|few|step|little|bit|maintainer|contributor|user|logged|superuser|proud)",
    ),
    Phrase(
        "role",
        "now you are",
        r"<(?:ok|okay|and|so)?[.,]? ?now you are (?:an? )?\w{1,20}(?: \w{1,20})?[,.]",
    ),
    Phrase(
        "role",
        "from now on",
        "from now on(?:wards?)?,? (?:you (?:are|will|must|shall|should|act)|your name|act|answer|respond|reply"
        r"|ignore)\b",
    ),
    Phrase(
        "role",
        "pretend",
        r"<(?:please |now |let'?s )?pretend(?: that)? you(?:(?: are|'re) (?:not |no |an? |the |able )| can\b)",
    ),
    Phrase(
        "role",
        "imagine you|that you",
        "<imagine (?:that )?you(?: are|'re) (?:the |an? (?:evil|unrestricted|uncensored|ai |unfiltered))",
    ),
    Phrase(
        "role",
        "your role",
        r"(?:stay|remain|absorbed|immersed|keep) ~ in (?:your|the) role\b|you never (?:leave|break|fall out of)"
        r" (?:your|the) (?:role|character)\b",
    ),
    Phrase(
        "role",
        "break|breaking|leave|leaving|of|the|their|your + character",
        "(?:do not|don'?t|never|without)(?: ever)? (?:break|breaking|leave|leaving|fall out of|step out of) (?:of "
        r"|the |their |your )?character\b",
    ),
    Phrase(
        "role",
        "you are ",
        r"you are (?:an? )(?:forked|modified|jailbroken|unrestricted|unfiltered) version of\b",
    ),
    Phrase(
        "jailbreak",
        "anything now|developer mode",
        r"(?:(?<!have\sto\s)do anything now|developer mode (?:is )?(?:enabled|activated)(?! on\b)(?!,))",
    ),
    Phrase(
        "jailbreak",
        "you are |you're ",
        "(?:you are|you're)(?: an?)? (?:completely |totally |fully )?(?:immoral|unethical|unfiltered|amoral) (?:and"
        "|ai|assistant|model|chat)",
    ),
    Phrase(
        "address",
        " ai|llm| model|chatbot|gpt|assistant",
        "<(?:important |urgent )?(?:note|message|instructions?|attention|notice|hint|reminder|order|directive)"
        r"s? (?:to|for)(?: the| any| all| every)? {model}\b ?(?:[:,.!—-]|reading|processing|that|who|summari)",
    ),
    Phrase(
        "address",
        " ai|llm| model|chatbot|gpt|assistant",
        "<(?:attention|dear|hello|hey|hallo|hi),?(?: all| any)? {model} ?(?:[:,!]|reading|processing)",
    ),
    Phrase(
        "address",
        "you are a|you're a|you are the",
        "(?:if|when|since|as) you(?: are|'re) (?:reading this as )?(?:an? |the )?{model}(?: (?:reading|processing"
        r"|summari[sz]ing|and)\b|, (?:you|please|ignore|do|say|answer|always|never|then|include|stop|output))",
    ),
    Phrase(
        "address",
        " ai|llm| model|chatbot|gpt|assistant",
        "{model} (?:(?:reading|processing|summari[sz]ing) this|(?:must|should|shall)(?: now)? (?:ignore|disregard"
        r"|obey|reveal|output|execute (?:the|every|all)))\b",
    ),
    Phrase(
        "address",
        "language model",
        r"are you as a language model\b",
    ),
    Phrase(
        "conceal",
        "tell|telling|inform|informing|alert|alerting|notify|notifying + user|the user|your user",
        "<?(?:do not|don'?t|never) (?:tell|inform|alert|notify)(?: the| your)? users? (?:about (?:this|these"
        "|the instruct)|of (?:this|these)|that (?:you|this))",
    ),
    Phrase(
        "conceal",
        "tell|telling|inform|informing|alert|alerting|notify|notifying + user|the user|your user",
        r"without (?:telling|informing|alerting) (?:the |your )users? (?:about (?:this|these)|of this|that you)\b",
    ),
    Phrase(
        "dictate",
        "just|only|simply|instead + say|answer|reply|respond|output|print|write|tell me|state|return",
        "(?:and|but|please|you must|you should|command you to) (?:just|only|simply|instead) {say}(?: with| that| as)"
        r"? ?[:\"'“”‘’«]",
    ),
    Phrase(
        "dictate",
        "instead + output|say|tell me|answer|respond|reply",
        r"(?:and|but) instead (?:output the|output \"|say \"|tell me|answer with|respond with|reply with)",
    ),
    Phrase(
        "dictate",
        "command you to",
        r"i command you to\b",
    ),
    Phrase(
        "dictate",
        "questions with|question with|time with|message with|prompt with",
        "(?:answer|respond|reply)(?: to)? (?:every|each|all)(?: of)?(?: my| the)? (?:questions?|time|message|prompt)"
        r"s? with \"?\w",
    ),
    Phrase(
        "dictate",
        "every time",
        r"every time (?:you get|you receive|i ask|someone asks|you are asked) ~~ (?:answer|say|respond|reply)\b",
    ),
    Phrase(
        "dictate",
        "repeat after me",
        r"repeat after me\b",
    ),
    Phrase(
        "dictate",
        "stop:|stop,|stop-|stop -|stop :|stop —",
        r"<stop ?[-:,—] ?(?:write|say|print|output)\b",
    ),
    Phrase(
        "dictate",
        "your own knowledge",
        r"(?:answer|respond) (?:by|from|with|using)(?: only)? your own knowledge\b",
    ),
    Phrase(
        "dictate",
        "nstruction:",
        r"<(?:new |your |system )?instruction: ?(?:blame|say|write|answer|ignore|tell|output|do|you)\b",
    ),
    Phrase(
        "dictate",
        "me that you",
        r"(?:and|,) tell me that you (?:hate|love|are)\b",
    ),
    Phrase(
        "new_task",
        "new|additional + task|instruct",
        "<(?:ok[.,]? |now |but |and |so )?(?:now |here )?(?:come |comes |follow |follows )?(?:the |your |a |some )"
        r"?(?:new|additional) (?:task|instruction)s? ?(?:follows?\b|comes?\b|now\b|- |: ?(?:you|ignore|say|write"
        "|print|forget|do)|, namely)",
    ),
    Phrase(
        "new_task",
        "new|next|second|more + task|instruct",
        "(?:now|here|but now) (?:come|comes|follow|follows)(?: a| the| some)? (?:new|next|second|more) (?:task"
        r"|instruction)s?\b",
    ),
    Phrase(
        "new_task",
        "new|next|this + task",
        r"(?:focus|concentrate)(?: only)? on (?:(?:your|the|a) (?:new|next)|this) task\b",
    ),
    Phrase(
        "new_task",
        "your new|your next",
        r"your (?:new|next) (?:task|assignment|instruction|role)s? (?:is|are)\b",
    ),
    Phrase(
        "new_task",
        "nstruct",
        r"(?:urgent|important|critical|new|updated) (?:model|system|assistant) instructions?\b",
    ),
    Phrase(
        "steer_reply",
        "your ",
        "<(?:please |also |kindly |do not forget to |don't forget to |make sure to |ensure (?:that )?(?:you )?"
        r"|remember to )?{add}\b[^.!?\n]{0,110}?\b(?<!for\s)(?<!header\sin\s)your (?:\w{1,12} )?{reply}\b"
        "(?! (?:time|code|body|header|object|status|data|key|choices?|sheet|field|message|file|handler|class|type|model"
        "|here|in the|when the agent))",
    ),
    Phrase(
        "execute",
        "every|all|any|each + command|instruct",
        "(?:execute|run|perform|follow|obey) (?:every|all|any|each) (?:commands?|instructions?) (?:in|from|below"
        r"|inside|contained in) (?:this|the following|these) (?:note|document|text|file|page|message|email)\b",
    ),
    Phrase(
        "markup",
        "im_start|im_end|endofprompt|begin_of_text|header_id",
        r"…<\|(?:im_start|im_end|endofprompt|begin_of_text|start_header_id)\|>",
    ),
    Phrase(
        "markup",
        "[/inst]|<<sys>>|<</sys>>",
        r"…(?:\[/inst\]|\[inst\]\s?<<sys>>|<</sys>>)",
    ),
    Phrase(
        "markup",
        "begin system|begin admin",
        r"begin (?:system|admin) (?:prompt|message|instructions)\b",
    ),
)
