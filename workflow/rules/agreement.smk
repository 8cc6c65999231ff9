# Agreement trial by trial beyond both papers: difficulty, individuality, wrong answers,
# rankings, planning, and kappa in the learning tasks.


rule agreement:
    input:
        agreement_files(),


rule test_difficulty:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        overall="<results>/agreement/{experiment}/difficulty.csv",
        pairs="<results>/agreement/{experiment}/difficulty-pairs.csv",
        correlation="<results>/agreement/{experiment}/difficulty-correlation.csv",
    log:
        "<logs>/test_difficulty/{experiment}.log",
    benchmark:
        "<benchmarks>/test_difficulty/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=30,
    params:
        code=code_of("agreement.fixed_margins", "agreement.difficulty"),
        settings=lambda wildcards: agreement_settings(wildcards),
    shell:
        "python -m trialwise test-difficulty --trials {input}"
        " --settings {params.settings:q} --overall {output.overall}"
        " --pairs {output.pairs} --correlation {output.correlation} 2>&1 | tee {log}"


rule individuate:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        table="<results>/agreement/{experiment}/individuation.csv",
        power="<results>/agreement/{experiment}/individuation-power.csv",
        replicas="<results>/agreement/{experiment}/replicas.csv",
    log:
        "<logs>/individuate/{experiment}.log",
    benchmark:
        "<benchmarks>/individuate/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=30,
    params:
        code=code_of("agreement.individuation"),
        settings=lambda wildcards: agreement_settings(wildcards),
    shell:
        "python -m trialwise individuate --trials {input}"
        " --settings {params.settings:q} --output {output.table}"
        " --power {output.power} --replicas {output.replicas} 2>&1 | tee {log}"


rule compare_wrong_answers:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        pooled="<results>/agreement/{experiment}/wrong-answers.csv",
        pairs="<results>/agreement/{experiment}/wrong-answer-pairs.csv",
    log:
        "<logs>/compare_wrong_answers/{experiment}.log",
    benchmark:
        "<benchmarks>/compare_wrong_answers/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=30,
    params:
        code=code_of("agreement.wrong_answers"),
        settings=lambda wildcards: agreement_settings(wildcards),
    shell:
        "python -m trialwise compare-wrong-answers --trials {input}"
        " --settings {params.settings:q} --pooled {output.pooled}"
        " --pairs {output.pairs} 2>&1 | tee {log}"


rule rank_observers:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        ranks="<results>/agreement/{experiment}/ranks.csv",
        pairs="<results>/agreement/{experiment}/rank-pairs.csv",
    log:
        "<logs>/rank_observers/{experiment}.log",
    benchmark:
        "<benchmarks>/rank_observers/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=30,
    params:
        code=code_of("agreement.ranks"),
        settings=lambda wildcards: agreement_settings(wildcards),
    shell:
        "python -m trialwise rank-observers --trials {input}"
        " --settings {params.settings:q} --ranks {output.ranks}"
        " --pairs {output.pairs} 2>&1 | tee {log}"


rule plan_trials:
    output:
        "<results>/agreement/planning.csv",
    log:
        "<logs>/plan_trials.log",
    benchmark:
        "<benchmarks>/plan_trials.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("agreement.planning"),
        settings=json.dumps(config["planning"]),
    shell:
        "python -m trialwise plan-trials --settings {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"


rule compare_with_learners:
    input:
        lambda wildcards: [
            f"<results>/choices/{wildcards.protocol}/{wildcards.task}/{learner}/{model}.csv"
            for learner in LEARNERS
            for model in learned_models()
        ],
    output:
        participants="<results>/agreement/learning/{protocol}/{task}/participants.csv",
        scores="<results>/agreement/learning/{protocol}/{task}/scores.csv",
    log:
        "<logs>/compare_with_learners/{protocol}-{task}.log",
    benchmark:
        "<benchmarks>/compare_with_learners/{protocol}-{task}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=30,
    params:
        code=code_of("agreement.learning"),
        settings=lambda wildcards: json.dumps(
            {
                "protocol": wildcards.protocol,
                "task": wildcards.task,
                "learners": LEARNERS,
                "models": learned_models(),
            }
        ),
    shell:
        "python -m trialwise compare-with-learners --input {input}"
        " --settings {params.settings:q} --participants {output.participants}"
        " --scores {output.scores} 2>&1 | tee {log}"


rule score_new_people:
    input:
        trials="<results>/choices/people/{task}.csv",
        values=lambda wildcards: compared_values(wildcards),
    output:
        participants="<results>/agreement/learning/new-people/{task}/{model}.csv",
        refits="<results>/agreement/learning/refits/{task}/{model}.csv",
    log:
        "<logs>/score_new_people/{task}-{model}.log",
    benchmark:
        "<benchmarks>/score_new_people/{task}-{model}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=60,
    params:
        code=code_of("agreement.new_people"),
        settings=lambda wildcards: json.dumps(
            {
                "names": {
                    "protocol": compared_protocol(),
                    "task": wildcards.task,
                    "learner": "main",
                    "model": wildcards.model,
                },
                "protocol": PROTOCOLS[compared_protocol()],
                "n_resamples": 200,
                "seed": config["seed"],
            }
        ),
    shell:
        "python -m trialwise score-new-people --trials {input.trials}"
        " --values {input.values} --settings {params.settings:q}"
        " --participants {output.participants} --refits {output.refits} 2>&1 | tee {log}"


rule gather_refits:
    input:
        lambda wildcards: new_people("refits"),
    output:
        "<results>/agreement/learning/refits.csv",
    log:
        "<logs>/gather_refits.log",
    benchmark:
        "<benchmarks>/gather_refits.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    shell:
        "python -m trialwise concatenate --input {input} --output {output}"
        " 2>&1 | tee {log}"


rule rank_models:
    input:
        scores="<results>/choices/scores.csv",
        participants="<results>/choices/participants.csv",
        kappa_scores=learner_agreement("scores"),
        kappa_participants=learner_agreement("participants"),
        new_people=lambda wildcards: new_people("new-people"),
    output:
        kappa="<results>/agreement/learning/kappa.csv",
        ranks="<results>/agreement/learning/ranks.csv",
        pairs="<results>/agreement/learning/rank-pairs.csv",
        rankings="<results>/agreement/learning/rankings.csv",
        agreement="<results>/agreement/learning/rankings-agreement.csv",
    log:
        "<logs>/rank_models.log",
    benchmark:
        "<benchmarks>/rank_models.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=60,
    params:
        code=code_of("agreement.learning", "agreement.ranks"),
        settings=json.dumps(
            {"n_resamples": config["n_resamples"], "seed": config["seed"]}
        ),
    shell:
        "python -m trialwise rank-models --choice-scores {input.scores}"
        " --choice-participants {input.participants} --scores {input.kappa_scores}"
        " --participants {input.kappa_participants}"
        " --new-people {input.new_people} --settings {params.settings:q}"
        " --kappa {output.kappa} --ranks {output.ranks} --pairs {output.pairs}"
        " --rankings {output.rankings} --agreement {output.agreement}"
        " 2>&1 | tee {log}"


rule agreement_validity:
    input:
        collect("<results>/agreement/validity/{method}.csv", method=METHODS),


rule measure_validity:
    output:
        "<results>/agreement/validity/{method}.csv",
    log:
        "<logs>/measure_validity/{method}.log",
    benchmark:
        "<benchmarks>/measure_validity/{method}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=120,
    params:
        code=code_of(*(f"simulation.{module}" for module, _, _ in METHODS.values())),
        settings=json.dumps(
            {"worlds": config["validity_worlds"], "seed": config["seed"]}
        ),
    shell:
        "python -m trialwise measure-validity --method {wildcards.method}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"
