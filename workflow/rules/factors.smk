# What goes with alignment: statistics over models, and the tables of the paper.


rule recompute_statistics:
    input:
        published="resources/published/models.csv",
        registry=MODEL_TABLE,
        families="resources/families.tsv",
    output:
        models="<results>/summary/published/models.csv",
        statistics="<results>/summary/published/statistics.csv",
    log:
        "<logs>/recompute_statistics.log",
    benchmark:
        "<benchmarks>/recompute_statistics.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.factors"),
        settings=json.dumps({"n_resamples": 1000, "seed": config["seed"]}),
    shell:
        "python -m trialwise recompute-statistics --published {input.published}"
        " --registry {input.registry} --families {input.families}"
        " --models {output.models} --statistics {output.statistics}"
        " --settings {params.settings:q} 2>&1 | tee {log}"


rule measure_factors:
    input:
        scores="<results>/choices/scores.csv",
        metrics="<results>/representations/metrics.csv",
        registry=MODEL_TABLE,
        families="resources/families.tsv",
    output:
        models="<results>/summary/models.csv",
        statistics="<results>/summary/factors.csv",
    log:
        "<logs>/measure_factors.log",
    benchmark:
        "<benchmarks>/measure_factors.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.factors"),
        settings=json.dumps({"n_resamples": 1000, "seed": config["seed"]}),
    shell:
        "python -m trialwise measure-factors --scores {input.scores}"
        " --metrics {input.metrics} --registry {input.registry}"
        " --families {input.families} --models {output.models}"
        " --statistics {output.statistics} --settings {params.settings:q}"
        " 2>&1 | tee {log}"


rule tabulate_models:
    input:
        published="<results>/summary/published/models.csv",
        computed="<results>/summary/models.csv" if measures_factors() else [],
        registry=MODEL_TABLE,
    output:
        tables=multiext("<results>/summary/tables/table-1", ".csv", ".md", ".tex")
        + multiext("<results>/summary/tables/table-2", ".csv", ".md", ".tex"),
    log:
        "<logs>/tabulate_models.log",
    benchmark:
        "<benchmarks>/tabulate_models.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.paper_tables"),
    shell:
        "python -m trialwise tabulate-models --published {input.published}"
        " --computed {input.computed} --registry {input.registry}"
        " --output {output.tables} 2>&1 | tee {log}"
