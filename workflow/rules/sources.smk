# Get and verify external files: from the mirror folder first, then from the network.


localrules:
    get_source,
    fetch_authors_files,


rule get_source:
    output:
        directory("<sources>/{group}"),
    log:
        "<logs>/get_source/{group}.log",
    benchmark:
        "<benchmarks>/get_source/{group}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("sources"),
        table=SOURCES,
        checksums=lambda wildcards: checksums_of(wildcards.group),
    shell:
        "python -m trialwise get-source --sources {params.table}"
        " --group {wildcards.group} --output {output} 2>&1 | tee {log}"


rule fetch_authors_files:
    input:
        "<sources>/learning-tasks",
    output:
        directory("<sources>/authors-features"),
    log:
        "<logs>/fetch_authors_files.log",
    benchmark:
        "<benchmarks>/fetch_authors_files.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=1440,
    params:
        code=code_of("models.authors"),
        models=MODEL_TABLE,
        names="resources/authors-features.tsv",
        store=f"{config['sources']}/osf",
    shell:
        "python -m trialwise fetch-authors-files --models {params.models}"
        " --names {params.names} --learning-tasks {input} --store {params.store}"
        " --output {output} 2>&1 | tee {log}"
