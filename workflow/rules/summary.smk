# What was computed beside what was published.


rule compare_with_published:
    input:
        published="resources/published/{paper}.csv",
        tables=lambda wildcards: published_counterparts(wildcards.paper),
    output:
        report(
            "<results>/summary/reproduction/{paper}.csv",
            caption="../report/reproduction.rst",
            category="Reproduction",
            labels={"paper": "{paper}"},
        ),
    log:
        "<logs>/compare_with_published/{paper}.log",
    benchmark:
        "<benchmarks>/compare_with_published/{paper}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        code=code_of("summary.reproduction"),
        results=lambda wildcards, output: Path(output[0]).parents[2],
    shell:
        "python -m trialwise compare-with-published --published {input.published}"
        " --results {params.results} --output {output} 2>&1 | tee {log}"
