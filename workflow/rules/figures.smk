# Figures of the papers, each with the tidy table it is drawn from.

CAPTIONS = {
    name: f"**{entry.number}: {entry.title}.** "
    + Path(workflow.source_path(f"../report/figures/{name}.rst")).read_text()
    for name, entry in ERROR_CONSISTENCY.items()
}


rule draw_figure:
    input:
        figure_inputs,
    output:
        "<results>/summary/figures/error-consistency/{figure}.csv",
        report(
            "<results>/summary/figures/error-consistency/{figure}.png",
            caption="../report/figure.rst",
            category="Error consistency",
            subcategory="Figures of the paper",
            labels={"figure": "{figure}"},
        ),
        "<results>/summary/figures/error-consistency/{figure}.pdf",
    log:
        "<logs>/draw_figure/{figure}.log",
    benchmark:
        "<benchmarks>/draw_figure/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(ERROR_CONSISTENCY),
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("summary.figures.drawings"),
        caption=lambda wildcards: CAPTIONS[wildcards.figure],
        settings=lambda wildcards: json.dumps(
            {
                "inputs": ERROR_CONSISTENCY[wildcards.figure].inputs,
                "groups": config["groups"],
            }
        ),
    shell:
        "python -m trialwise draw-figure --name {wildcards.figure}"
        " --input {input} --settings {params.settings:q} --output {output}"
        " 2>&1 | tee {log}"
