from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.20")

if not Path("config/config.yaml").is_file():
    raise WorkflowError(
        f"There is no config/config.yaml in {Path.cwd()}.\n"
        f"Run Snakemake in the folder of the clone: cd {workflow.basedir}"
    )


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/targets.smk"
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
include: "workflow/rules/rule_graph.smk"


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


onerror:
    show_errors(log)
