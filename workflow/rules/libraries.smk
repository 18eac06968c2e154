# The ledger of other libraries: each is attacked in an environment of its own. Not part of `all`: snakemake libraries
LIBRARIES = sorted(
    path.parent.name for path in Path("examples/libraries").glob("*/attacks.py")
)


wildcard_constraints:
    library="[a-z0-9-]+",


rule library_environment:
    input:
        lock="examples/libraries/{library}/requirements.lock",
    output:
        made=touch(".venv-libraries/{library}/.installed"),
    log:
        "logs/libraries/{library}-environment.log",
    localrule: True
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    message:
        "install {wildcards.library} as it is locked"
    script:
        "../scripts/library_environment.py"


rule attack_library:
    input:
        made=".venv-libraries/{library}/.installed",
        pages=lambda wildcards: sorted(
            map(str, Path("examples/libraries", wildcards.library).glob("*.py"))
        ),
        shared=["examples/libraries/attack.py", "examples/libraries/run.py"],
    output:
        rows="results/libraries/rows/{library}.jsonl",
    log:
        "logs/libraries/{library}.log",
    localrule: True
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
    message:
        "attack {wildcards.library}"
    script:
        "../scripts/attack_library.py"


rule libraries_ledger:
    input:
        rows=expand("results/libraries/rows/{library}.jsonl", library=LIBRARIES),
        code="examples/libraries/ledger.py",
    output:
        parquet="results/libraries/ledger.parquet",
        figure="results/libraries/ledger.svg",
        page="results/libraries/index.html",
    log:
        "logs/libraries/ledger.log",
    localrule: True
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    message:
        "the ledger of other libraries"
    script:
        "../scripts/libraries_ledger.py"


rule libraries:
    input:
        rules.libraries_ledger.output,
