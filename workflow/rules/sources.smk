# Get and verify external files: from the mirror folder first, then from the network.


localrules:
    get_source,


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
        mem_mb=500,
        runtime=10,
    params:
        code=code_of("sources"),
        table=SOURCES,
        checksums=lambda wildcards: checksums_of(wildcards.group),
    shell:
        "python -m trialwise get-source --sources {params.table}"
        " --group {wildcards.group} --output {output} 2>&1 | tee {log}"
