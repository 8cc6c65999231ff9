# The demo: observers of known consistency, people who learn from a known
# representation, and the coverage of the intervals. Synthetic embeddings.


rule demo:
    input:
        demo_needs_simulation,


rule simulate_observers:
    output:
        directory("<results>/consistency/{experiment}/simulated"),
    log:
        "<logs>/simulate_observers/{experiment}.log",
    benchmark:
        "<benchmarks>/simulate_observers/{experiment}.tsv"
    wildcard_constraints:
        experiment="|".join(SIMULATED) or "none",
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("simulation.observers"),
        settings=lambda wildcards: json.dumps(
            {**entry(wildcards)["simulate"], "seed": config["seed"]}
        ),
    shell:
        "python -m trialwise simulate-observers --settings {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"


rule measure_recovery:
    input:
        "<results>/consistency/{experiment}/groups.csv",
    output:
        "<results>/consistency/{experiment}/recovery.csv",
    log:
        "<logs>/measure_recovery/{experiment}.log",
    benchmark:
        "<benchmarks>/measure_recovery/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("simulation.observers"),
        settings=lambda wildcards: json.dumps({"truth": true_consistency(wildcards)}),
    shell:
        "python -m trialwise measure-recovery --groups {input}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule measure_interval_coverage:
    output:
        "<results>/consistency/coverage.csv",
    log:
        "<logs>/measure_interval_coverage.log",
    benchmark:
        "<benchmarks>/measure_interval_coverage.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("simulation.coverage"),
        settings=lambda wildcards: json.dumps(
            {**config["coverage"], "seed": config["seed"]}
        ),
    shell:
        "python -m trialwise measure-interval-coverage"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule simulate_people:
    output:
        features=collect(
            "<results>/features/simulated/{name}.npy",
            name=representation_names(PEOPLE.get("decoys", 0)),
        ),
        images="<results>/stimuli/simulated.txt",
        latent="<results>/stimuli/simulated.npy",
        category="<results>/choices/simulated/category.csv",
        reward="<results>/choices/simulated/reward.csv",
    log:
        "<logs>/simulate_people.log",
    benchmark:
        "<benchmarks>/simulate_people.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("simulation.participants"),
        settings=json.dumps({**PEOPLE, **CHOOSING, "seed": config["seed"]}),
    shell:
        "python -m trialwise simulate-people --settings {params.settings:q}"
        " --images {output.images} --latent {output.latent}"
        " --category {output.category} --reward {output.reward}"
        " --output {output.features} 2>&1 | tee {log}"


rule render_images:
    input:
        images="<results>/stimuli/simulated.txt",
        latent="<results>/stimuli/simulated.npy",
    output:
        directory("<results>/stimuli/simulated"),
    log:
        "<logs>/render_images.log",
    benchmark:
        "<benchmarks>/render_images.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("simulation.rendering"),
    shell:
        "python -m trialwise render-images --images {input.images}"
        " --latent {input.latent} --output {output} 2>&1 | tee {log}"


rule name_shapes:
    input:
        images="<results>/stimuli/simulated.txt",
        latent="<results>/stimuli/simulated.npy",
        features=lambda wildcards: [
            f"<results>/features/simulated/{model}.npy"
            for model in available(entry(wildcards)["shapes"]["models"], "simulated")
        ],
    output:
        directory("<results>/consistency/{experiment}/simulated"),
    log:
        "<logs>/name_shapes/{experiment}.log",
    benchmark:
        "<benchmarks>/name_shapes/{experiment}.tsv"
    wildcard_constraints:
        experiment="|".join(NAMED_SHAPES) or "none",
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=30,
    params:
        code=code_of("simulation.shapes"),
        settings=lambda wildcards: json.dumps(
            {**entry(wildcards)["shapes"], "seed": config["seed"]}
        ),
    shell:
        "python -m trialwise name-shapes --images {input.images}"
        " --latent {input.latent} --features {input.features}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule measure_people_recovery:
    input:
        scores="<results>/choices/scores.csv",
        fits="<results>/choices/fits.csv",
    output:
        "<results>/choices/recovery.csv",
    log:
        "<logs>/measure_people_recovery.log",
    benchmark:
        "<benchmarks>/measure_people_recovery.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("simulation.recovery"),
        settings=json.dumps(
            {
                "protocol": "comparable",
                "learner": CHOOSING["learner"],
                "truth": {key: PEOPLE.get(key) for key in ("beta", "sigma")},
            }
        ),
    shell:
        "python -m trialwise measure-people-recovery --scores {input.scores}"
        " --fits {input.fits} --settings {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"


rule draw_embedding:
    input:
        generative=f"<results>/features/things/{GENERATIVE}.npy",
    output:
        "<results>/features/things/{model}.npy",
    log:
        "<logs>/draw_embedding/{model}.log",
    benchmark:
        "<benchmarks>/draw_embedding/{model}.tsv"
    wildcard_constraints:
        model="|".join(SYNTHETIC) or "none",
    conda:
        "../../envs/main.yaml"
    threads: 2
    resources:
        mem_mb=growing(3000),
        runtime=10,
    params:
        code=code_of("simulation.embeddings"),
        settings=lambda wildcards, threads: json.dumps(
            {
                "dimension": MODELS[wildcards.model].dimension,
                "name": wildcards.model,
                "seed": config["seed"],
                "threads": threads,
            }
        ),
    shell:
        "python -m trialwise draw-embedding --generative {input.generative}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"
