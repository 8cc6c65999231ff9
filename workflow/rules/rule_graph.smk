# The picture of these rules in README.md, made of all shipped studies.


localrules:
    rule_graph,


rule rule_graph:
    output:
        "<results>/rule-graph.md",
    log:
        "<logs>/rule_graph.log",
    benchmark:
        "<benchmarks>/rule_graph.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("rule_graph"),
        rules=lambda wildcards: digest_of(each.snakefile for each in workflow.rules),
        studies=["config/config.yaml", "config/offline.yaml", "config/demo.yaml"],
        snakefile=lambda wildcards, output: workflow.main_snakefile,
        settings=lambda wildcards: json.dumps(stages()),
    shell:
        # Any folder stands for the mirror: nothing is fetched to plan.
        "(for study in {params.studies}; do"
        " TRIALWISE_MIRROR=. python -m snakemake all --rulegraph mermaid-js"
        " --snakefile {params.snakefile:q} --configfile $study; done"
        " | python -m trialwise draw-rule-graph --settings {params.settings:q}"
        " --output {output}) 2>&1 | tee {log}"
