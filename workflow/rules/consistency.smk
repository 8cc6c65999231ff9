# Error consistency: kappa, its bounds, nulls and intervals, and what goes with them.


rule consistency:
    input:
        consistency_files(),


rule validate_trials:
    input:
        trials=lambda wildcards: raw_trials(entry(wildcards)),
        decisions=lambda wildcards: decisions_of(entry(wildcards)),
    output:
        "<results>/consistency/{experiment}/trials.csv",
    log:
        "<logs>/validate_trials/{experiment}.log",
    benchmark:
        "<benchmarks>/validate_trials/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("observer_tables"),
        folder=lambda wildcards, input: entry(wildcards).get("folder", input.trials),
        settings=lambda wildcards, input: json.dumps(
            {
                **select(
                    entry(wildcards), "categories", "image_id", "conditions", "exclude"
                ),
                "further": list(input.get("decisions", [])),
                **layout_of(entry(wildcards)),
            }
        ),
    shell:
        "python -m trialwise validate-trials --input {params.folder:q}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule compare_observers:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        pairs="<results>/consistency/{experiment}/pairs.csv",
        groups="<results>/consistency/{experiment}/groups.csv",
        networks="<results>/consistency/{experiment}/networks.csv",
    log:
        "<logs>/compare_observers/{experiment}.log",
    benchmark:
        "<benchmarks>/compare_observers/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.comparisons"),
        settings=lambda wildcards: json.dumps(
            {
                "groups": compared_groups(entry(wildcards)),
                "comparisons": comparisons_of(entry(wildcards)),
                "cluster": entry(wildcards).get("cluster"),
                "n_resamples": config["n_resamples"],
                "seed": config["seed"],
            }
        ),
    shell:
        "python -m trialwise compare-observers --trials {input}"
        " --settings {params.settings:q} --pairs {output.pairs}"
        " --groups {output.groups} --networks {output.networks} 2>&1 | tee {log}"


rule measure_accuracy:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        accuracy="<results>/consistency/{experiment}/accuracy.csv",
        groups="<results>/consistency/{experiment}/group-accuracy.csv",
        confusion="<results>/consistency/{experiment}/confusion.csv",
    log:
        "<logs>/measure_accuracy/{experiment}.log",
    benchmark:
        "<benchmarks>/measure_accuracy/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.accuracy", "consistency.confusion"),
        settings=lambda wildcards: json.dumps(
            {"groups": compared_groups(entry(wildcards))}
        ),
    shell:
        "python -m trialwise measure-accuracy --trials {input}"
        " --settings {params.settings:q} --accuracy {output.accuracy}"
        " --groups {output.groups} --confusion {output.confusion} 2>&1 | tee {log}"


rule tabulate_accuracy:
    input:
        collect(
            "<results>/consistency/{experiment}/accuracy.csv",
            experiment=lookup("accuracy_table/experiments", within=config, default=[]),
        ),
    output:
        "<results>/consistency/accuracy.csv",
    log:
        "<logs>/tabulate_accuracy.log",
    benchmark:
        "<benchmarks>/tabulate_accuracy.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.accuracy"),
        settings=lambda wildcards: json.dumps(accuracy_table()),
    shell:
        "python -m trialwise tabulate-accuracy --input {input}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule compute_band:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        "<results>/consistency/{experiment}/band.csv",
    log:
        "<logs>/compute_band/{experiment}.log",
    benchmark:
        "<benchmarks>/compute_band/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.percentiles"),
        settings=lambda wildcards: chosen(entry(wildcards), "break_point"),
    shell:
        "python -m trialwise compute-band --trials {input}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule count_outside_band:
    input:
        pairs="<results>/consistency/{experiment}/pairs.csv",
        band="<results>/consistency/{experiment}/band.csv",
    output:
        "<results>/consistency/{experiment}/outside-band.csv",
    log:
        "<logs>/count_outside_band/{experiment}.log",
    benchmark:
        "<benchmarks>/count_outside_band/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.comparisons"),
        settings=lambda wildcards: json.dumps(
            {
                "groups": compared_groups(entry(wildcards)),
                "comparisons": [
                    [c["first"], c["second"]] for c in comparisons_of(entry(wildcards))
                ],
            }
        ),
    shell:
        "python -m trialwise count-outside-band --pairs {input.pairs}"
        " --band {input.band} --settings {params.settings:q} --output {output}"
        " 2>&1 | tee {log}"


rule collect_benchmarks:
    input:
        imagenet="resources/imagenet_accuracy.csv",
        names="resources/brain_score_names.csv",
        brain_score="<sources>/brain-score",
    output:
        scores="<results>/consistency/benchmark-scores.csv",
        correlation="<results>/consistency/benchmark-correlation.csv",
    log:
        "<logs>/collect_benchmarks.log",
    benchmark:
        "<benchmarks>/collect_benchmarks.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.regression"),
    shell:
        "python -m trialwise collect-benchmarks --imagenet {input.imagenet}"
        " --names {input.names}"
        " --brain-score {input.brain_score}/brainscore_metrics.csv"
        " --output {output.scores} --correlation {output.correlation} 2>&1 | tee {log}"


rule regress_on_benchmarks:
    input:
        pairs="<results>/consistency/{experiment}/pairs.csv",
        scores="<results>/consistency/benchmark-scores.csv",
    output:
        "<results>/consistency/{experiment}/regression.csv",
    log:
        "<logs>/regress_on_benchmarks/{experiment}.log",
    benchmark:
        "<benchmarks>/regress_on_benchmarks/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.regression"),
        settings=json.dumps(
            {
                "groups": groups_of(r["networks"] for r in config["regressions"]),
                "regressions": config["regressions"],
            }
        ),
    shell:
        "python -m trialwise regress-on-benchmarks --pairs {input.pairs}"
        " --benchmarks {input.scores} --settings {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"


rule measure_shape_bias:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        "<results>/consistency/{experiment}/shape-bias.csv",
    log:
        "<logs>/measure_shape_bias/{experiment}.log",
    benchmark:
        "<benchmarks>/measure_shape_bias/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.shape_bias"),
        settings=lambda wildcards: json.dumps(
            {"texture_pattern": entry(wildcards)["texture"]}
        ),
    shell:
        "python -m trialwise measure-shape-bias --trials {input}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule correlate_shape_bias:
    input:
        networks="<results>/consistency/{experiment}/networks.csv",
        bias="<results>/consistency/{experiment}/shape-bias.csv",
        accuracy="<results>/consistency/{experiment}/accuracy.csv",
    output:
        table="<results>/consistency/{experiment}/texture-trained.csv",
        correlation="<results>/consistency/{experiment}/shape-bias-correlation.csv",
    log:
        "<logs>/correlate_shape_bias/{experiment}.log",
    benchmark:
        "<benchmarks>/correlate_shape_bias/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.shape_bias"),
        settings=lambda wildcards: json.dumps(
            {"observers": config["groups"][entry(wildcards)["texture_trained"]]}
        ),
    shell:
        "python -m trialwise correlate-shape-bias --networks {input.networks}"
        " --bias {input.bias} --accuracy {input.accuracy}"
        " --settings {params.settings:q} --table {output.table}"
        " --output {output.correlation} 2>&1 | tee {log}"


rule rank_images:
    input:
        "<results>/consistency/{experiment}/trials.csv",
    output:
        images="<results>/consistency/{experiment}/controversial.csv",
        extremes="<results>/consistency/{experiment}/controversial-five.csv",
    log:
        "<logs>/rank_images/{experiment}.log",
    benchmark:
        "<benchmarks>/rank_images/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("consistency.controversial"),
        settings=lambda wildcards: json.dumps(
            {
                "networks": config["groups"][entry(wildcards)["networks"]],
                "tie_breaker": entry(wildcards).get("tie_breaker"),
            }
        ),
    shell:
        "python -m trialwise rank-images --trials {input}"
        " --settings {params.settings:q} --output {output.images}"
        " --extremes {output.extremes} 2>&1 | tee {log}"


rule measure_levels:
    input:
        lambda wildcards: raw_trials(NOISE_EXPERIMENTS[wildcards.noise]),
    output:
        "<results>/consistency/{noise}/levels.csv",
    log:
        "<logs>/measure_levels/{noise}.log",
    benchmark:
        "<benchmarks>/measure_levels/{noise}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("trials", "consistency.accuracy"),
        settings=lambda wildcards: json.dumps(
            {
                "level_pattern": NOISE_EXPERIMENTS[wildcards.noise]["level"],
                "networks": config["noise_networks"],
            }
        ),
    shell:
        "python -m trialwise measure-levels --input {input}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"


rule draw_kappa:
    input:
        pairs="<results>/consistency/{experiment}/pairs.csv",
        band="<results>/consistency/{experiment}/band.csv",
    output:
        report(
            "<results>/consistency/{experiment}/kappa.png",
            caption="../report/kappa.rst",
            category="Error consistency",
            labels={"experiment": "{experiment}", "figure": "kappa"},
        ),
        "<results>/consistency/{experiment}/kappa.pdf",
    log:
        "<logs>/draw_kappa/{experiment}.log",
    benchmark:
        "<benchmarks>/draw_kappa/{experiment}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.figures.consistency"),
    shell:
        "python -m trialwise draw-kappa --pairs {input.pairs} --band {input.band}"
        " --title {wildcards.experiment} --output {output} 2>&1 | tee {log}"
