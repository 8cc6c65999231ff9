# Measures of the models' representations of the THINGS images: one job per model.


rule representations:
    input:
        representation_tables(),


rule measure_representation:
    input:
        features="<results>/features/things/{model}.npy",
        task=f"<results>/features/things/{GENERATIVE}.npy",
        images="<results>/stimuli/things.txt",
        objects="<sources>/learning-tasks",
        triplets="<sources>/things-odd-one-out",
    output:
        "<results>/representations/models/{model}.csv",
    log:
        "<logs>/measure_representation/{model}.log",
    benchmark:
        "<benchmarks>/measure_representation/{model}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 2
    resources:
        mem_mb=growing(5000),
        runtime=60,
    params:
        code=code_of("representations.measure"),
        settings=lambda wildcards, threads: json.dumps(
            {"seed": config["seed"], "threads": threads}
        ),
    shell:
        "python -m trialwise measure-representation --model {wildcards.model}"
        " --features {input.features} --task-features {input.task}"
        " --images {input.images} --objects {input.objects}/unique_id.csv"
        " --triplets {input.triplets}/behavior_triplets_test10.txt"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule gather_measures:
    input:
        tables=lambda wildcards: [
            f"<results>/representations/models/{model}.csv"
            for model in learned_models()
        ],
        scores=config.get("external_measures", []),
    output:
        "<results>/representations/metrics.csv",
    log:
        "<logs>/gather_measures.log",
    benchmark:
        "<benchmarks>/gather_measures.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("representations.measure"),
        models=MODEL_TABLE,
    shell:
        "python -m trialwise gather-measures --models {params.models}"
        " --input {input.tables} --scores {input.scores:q} --output {output}"
        " 2>&1 | tee {log}"
