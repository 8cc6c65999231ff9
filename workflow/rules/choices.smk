# Mixed-effects models of people's choices: one job per protocol, model and task.


rule learning:
    input:
        learning_files(),


rule validate_choices:
    input:
        lambda wildcards: choices_of(wildcards.task)[0],
    output:
        trials="<results>/choices/people/{task}.csv",
        by_trial="<results>/choices/people/{task}-by-trial.csv",
    log:
        "<logs>/validate_choices/{task}.log",
    benchmark:
        "<benchmarks>/validate_choices/{task}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("choices.people"),
        file=lambda wildcards: choices_of(wildcards.task)[1],
        settings=lambda wildcards: json.dumps(
            {
                "participants": LEARNING["participants"],
                "n_resamples": config["n_resamples"],
                "seed": config["seed"],
            }
        ),
    shell:
        "python -m trialwise validate-choices --input {params.file:q}"
        " --task {wildcards.task} --settings {params.settings:q}"
        " --output {output.trials} --by-trial {output.by_trial} 2>&1 | tee {log}"


rule fit_people:
    input:
        category="<results>/choices/people/category.csv",
        reward="<results>/choices/people/reward.csv",
    output:
        "<results>/choices/people/models.csv",
    log:
        "<logs>/fit_people.log",
    benchmark:
        "<benchmarks>/fit_people.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("choices.people"),
    shell:
        "python -m trialwise fit-people --category {input.category}"
        " --reward {input.reward} --output {output} 2>&1 | tee {log}"


rule fit_choices:
    input:
        trials="<results>/choices/people/{task}.csv",
        values=lambda wildcards: values_for(wildcards),
    output:
        tables=collect(
            "<results>/choices/{{protocol}}/{{task}}/{learner}/{{model}}.csv",
            learner=LEARNERS,
        ),
        scores="<results>/choices/{protocol}/{task}/scores/{model}.csv",
        participants="<results>/choices/{protocol}/{task}/participants/{model}.csv",
        fits="<results>/choices/{protocol}/{task}/fits/{model}.csv",
    log:
        "<logs>/fit_choices/{protocol}-{task}-{model}.log",
    benchmark:
        "<benchmarks>/fit_choices/{protocol}-{task}-{model}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=30,
    params:
        code=code_of("choices.scores"),
        settings=lambda wildcards: json.dumps(
            {
                "name": wildcards.protocol,
                "protocol": PROTOCOLS[wildcards.protocol],
                "learners": LEARNERS,
                "model": wildcards.model,
            }
        ),
    shell:
        "python -m trialwise fit-choices --trials {input.trials}"
        " --task {wildcards.task} --input {input.values}"
        " --settings {params.settings:q} --output {output.tables}"
        " --scores {output.scores} --participants {output.participants}"
        " --fits {output.fits} 2>&1 | tee {log}"


rule fit_baselines:
    input:
        "<results>/choices/people/{task}.csv",
    output:
        tables=collect(
            "<results>/choices/{{protocol}}/{{task}}/baseline/{baseline}.csv",
            baseline=["truth", "truth-trial"],
        ),
        scores="<results>/choices/{protocol}/{task}/scores/baselines.csv",
        participants="<results>/choices/{protocol}/{task}/participants/baselines.csv",
        fits="<results>/choices/{protocol}/{task}/fits/baselines.csv",
    log:
        "<logs>/fit_baselines/{protocol}-{task}.log",
    benchmark:
        "<benchmarks>/fit_baselines/{protocol}-{task}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=30,
    params:
        code=code_of("choices.scores"),
        settings=lambda wildcards: json.dumps(
            {
                "name": wildcards.protocol,
                "protocol": PROTOCOLS[wildcards.protocol],
            }
        ),
    shell:
        "python -m trialwise fit-baselines --trials {input}"
        " --task {wildcards.task} --settings {params.settings:q}"
        " --output {output.tables} --scores {output.scores}"
        " --participants {output.participants} --fits {output.fits} 2>&1 | tee {log}"


rule vary_penalty:
    input:
        trials="<results>/choices/people/category.csv",
        features=f"<results>/features/{IMAGES}/{{model}}.npy",
        images=f"<results>/stimuli/{IMAGES}.txt",
        values="<results>/learners/global/category/main/{model}.csv",
    output:
        "<results>/choices/comparable/category/penalty/{model}.csv",
    log:
        "<logs>/vary_penalty/{model}.log",
    benchmark:
        "<benchmarks>/vary_penalty/{model}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 2
    resources:
        mem_mb=growing(1500),
        runtime=60,
    params:
        code=code_of("choices.sensitivity", "learners.protocol"),
        settings=lambda wildcards, threads: json.dumps(
            {
                "names": {"learner": "main", "model": wildcards.model},
                "protocol": PROTOCOLS["comparable"],
                "threads": threads,
            }
        ),
    shell:
        "python -m trialwise vary-penalty --trials {input.trials}"
        " --features {input.features}"
        " --images {input.images}"
        " --values {input.values} --settings {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"


rule gather_scores:
    input:
        lambda wildcards: score_files(wildcards.kind),
    output:
        "<results>/choices/{kind}.csv",
    log:
        "<logs>/gather_scores/{kind}.log",
    benchmark:
        "<benchmarks>/gather_scores/{kind}.tsv"
    wildcard_constraints:
        kind="scores|participants|fits|penalty",
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    shell:
        "python -m trialwise concatenate --input {input} --output {output}"
        " 2>&1 | tee {log}"


rule gather_curves:
    input:
        curve_files(),
    output:
        "<results>/learners/curves.csv",
    log:
        "<logs>/gather_curves.log",
    benchmark:
        "<benchmarks>/gather_curves.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    shell:
        "python -m trialwise concatenate --input {input} --output {output}"
        " 2>&1 | tee {log}"
