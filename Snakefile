from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/targets.smk"


pathvars:
    results=config["results"],
    sources=config["sources"],
    logs=f"{config['results']}/logs",
    benchmarks=f"{config['results']}/benchmarks",


include: "workflow/rules/sources.smk"
include: "workflow/rules/stimuli.smk"
include: "workflow/rules/simulation.smk"
include: "workflow/rules/consistency.smk"
include: "workflow/rules/agreement.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/learners.smk"
include: "workflow/rules/choices.smk"
include: "workflow/rules/representations.smk"
include: "workflow/rules/summary.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/factors.smk"
include: "workflow/rules/learning_figures.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        study_files(),
        report_files(),


onstart:
    print(describe_left_out(LEFT_OUT), flush=True) if LEFT_OUT else None


onsuccess:
    record_results()
    show_recovery()
