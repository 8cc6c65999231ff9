# Figures of the learning tasks, each with the tidy table it is drawn from: what was
# computed, and what was published.

LEARNING_CAPTIONS = {
    name: Path(
        workflow.source_path(f"../report/learning-figures/{name}.rst")
    ).read_text()
    for name in LEARNING_TASKS
}


rule draw_learning_figure:
    input:
        tables=learning_figure_inputs,
        registry=MODEL_TABLE,
    output:
        "<results>/summary/{drawn}/{learning_figure}.csv",
        report(
            "<results>/summary/{drawn}/{learning_figure}.png",
            caption="../report/figure.rst",
            category="Learning tasks",
            subcategory="Figures of the paper",
            labels={"figure": "{learning_figure}", "folder": "{drawn}"},
        ),
        "<results>/summary/{drawn}/{learning_figure}.pdf",
    log:
        "<logs>/draw_learning_figure/{drawn}/{learning_figure}.log",
    benchmark:
        "<benchmarks>/draw_learning_figure/{drawn}/{learning_figure}.tsv"
    wildcard_constraints:
        drawn="figures/learning-tasks|published/figures",
        learning_figure="|".join(LEARNING_TASKS),
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.figures.alignment"),
        caption=learning_caption,
        settings=learning_figure_settings,
    shell:
        "python -m trialwise draw-learning-figure --name {wildcards.learning_figure}"
        " --registry {input.registry} --input {input.tables}"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"
