# One page with all that a study has found.


rule make_report:
    input:
        files=report_inputs(),
        published=report_published(),
    output:
        "<results>/summary/report.html",
    log:
        "<logs>/make_report.log",
    benchmark:
        "<benchmarks>/make_report.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=10,
    params:
        code=code_of("summary.report"),
        page=digest_of(page_files()),
        # What depends on an output is no reason to run again: the page may have moved.
        templates=lambda wildcards, output: page_files(),
        results=lambda wildcards, output: Path(output[0]).parents[1],
        settings=lambda wildcards: json.dumps(
            {**report_settings(), "captions": figure_captions()}
        ),
    shell:
        "python -m trialwise make-report --results {params.results}"
        " --input {input.files} --published {input.published}"
        " --templates {params.templates:q} --settings {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"
