# Learners that see what people saw: one job per scaling, model and task.


rule run_learners:
    input:
        trials="<results>/choices/people/{task}.csv",
        features=f"<results>/features/{IMAGES}/{{model}}.npy",
        images=f"<results>/stimuli/{IMAGES}.txt",
    output:
        collect(
            "<results>/learners/{{scaling}}/{{task}}/{learner}/{{model}}.csv",
            learner=LEARNERS,
        ),
    log:
        "<logs>/run_learners/{scaling}-{task}-{model}.log",
    benchmark:
        "<benchmarks>/run_learners/{scaling}-{task}-{model}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 2
    resources:
        mem_mb=growing(2000),
        runtime=240,
    params:
        code=code_of("learners.protocol"),
        settings=lambda wildcards, threads: json.dumps(
            {"learners": LEARNERS, "threads": threads}
        ),
    shell:
        "python -m trialwise run-learners --trials {input.trials}"
        " --features {input.features}"
        " --images {input.images}"
        " --scaling {wildcards.scaling} --settings {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"


rule trace_learning:
    input:
        trials="<results>/choices/people/{task}.csv",
        values=collect(
            "<results>/learners/{{scaling}}/{{task}}/{learner}/{{model}}.csv",
            learner=LEARNERS,
        ),
    output:
        "<results>/learners/{scaling}/{task}/curves/{model}.csv",
    log:
        "<logs>/trace_learning/{scaling}-{task}-{model}.log",
    benchmark:
        "<benchmarks>/trace_learning/{scaling}-{task}-{model}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("choices.scores"),
        settings=lambda wildcards: json.dumps(
            {
                "learners": LEARNERS,
                "names": {"scaling": wildcards.scaling, "model": wildcards.model},
            }
        ),
    shell:
        "python -m trialwise trace-learning --trials {input.trials}"
        " --task {wildcards.task} --input {input.values}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"
