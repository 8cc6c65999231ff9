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
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.reproduction"),
        results=lambda wildcards, output: Path(output[0]).parents[2],
    shell:
        "python -m trialwise compare-with-published --published {input.published}"
        " --results {params.results} --output {output} 2>&1 | tee {log}"


rule measure_protocol_steps:
    input:
        trials="<results>/choices/people/{task}.csv",
        values=lambda wildcards: [
            f"<results>/learners/{scaling}/{wildcards.task}/main/{GENERATIVE}.csv"
            for scaling in scalings_of(wildcards.task)
        ],
    output:
        "<results>/summary/protocol-steps/{task}.csv",
    log:
        "<logs>/measure_protocol_steps/{task}.log",
    benchmark:
        "<benchmarks>/measure_protocol_steps/{task}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=10,
    params:
        code=code_of("summary.protocols"),
        settings=lambda wildcards: json.dumps(
            {
                "scalings": scalings_of(wildcards.task),
                "protocols": {
                    name: PROTOCOLS[name]
                    for name in DESCRIBED
                    if name in LEARNING["protocols"]
                },
            }
        ),
    shell:
        "python -m trialwise measure-protocol-steps --trials {input.trials}"
        " --task {wildcards.task} --input {input.values}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule describe_protocols:
    input:
        scores="<results>/choices/scores.csv",
        category="<results>/summary/protocol-steps/category.csv",
        reward="<results>/summary/protocol-steps/reward.csv",
        penalty="<results>/choices/penalty.csv",
        template=workflow.source_path("../report/protocols.md"),
    output:
        text="<results>/summary/protocols.md",
        figures=report(
            multiext("<results>/summary/protocols", ".png", ".pdf"),
            caption="../report/protocols.rst",
            category="Protocols",
        ),
    log:
        "<logs>/describe_protocols.log",
    benchmark:
        "<benchmarks>/describe_protocols.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.protocols", "summary.figures.protocols"),
    shell:
        "python -m trialwise describe-protocols --scores {input.scores}"
        " --category {input.category} --reward {input.reward}"
        " --penalty {input.penalty}"
        " --template {input.template} --text {output.text}"
        " --output {output.figures} 2>&1 | tee {log}"
