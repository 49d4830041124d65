import { html, raw } from 'hono/html'
import type { OpenApiDocument } from '../openapi.ts'
import { sampleOf } from '../openapi-sample.ts'
import { type Html, jsonBlock, renderInlineMarkup, table } from './html.ts'
import { type PlacedOperation, renderOperation } from './operation.ts'
import { renderFields } from './schema.ts'
import { renderTour, type Walkthrough } from './tour.ts'

/** Style and script of the page, embedded so that it loads nothing else. */
export interface PageParts {
  style: string
  script: string
}

/** Content of the page in addition to the OpenAPI document. */
export interface DocsContent {
  tour: Walkthrough
  /** Sections after the operations. */
  chapters: readonly Section[]
}

/** Section with tables; the filter of the page searches each of their rows. */
export interface Section {
  id: string
  title: string
  render: (origin: string) => Html
}

/** Renders the OpenAPI document as a web page, with the reader's origin in every command. */
export function renderDocsPage(
  document: OpenApiDocument,
  about: DocsContent,
  origin: string,
  parts: PageParts,
): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]): PlacedOperation => ({ ...one, method: method.toUpperCase(), path })),
  )
  const byTag = document.tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ tags }) => tags.includes(tag.name)),
  }))
  const chapters: Section[] = [
    ...about.chapters,
    { id: 'errors', title: 'Errors', render: () => renderErrors(document) },
  ]
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${document.info.title} API</title>
<style>${raw(parts.style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
  <a class="name" href="#top">${document.info.title} <small>API ${document.info.version}</small></a>
  <input id="filter" type="search" placeholder="Filter (press /)"
    aria-label="Filter endpoints, messages, topics, settings and error codes" autocomplete="off" hidden>
  <a href="/openapi.json">openapi.json</a>
</header>
<div class="columns">
<nav aria-label="Contents">
  <details open><summary>Contents</summary>
  <ul>
    <li><a href="#tour">${about.tour.title}</a></li>
    <li><a href="#rules">General rules</a></li>
    ${byTag.map(
      ({ name, operations: own }) => html`<li class="tag"><a href="#${anchor(name)}">${name}</a>
      <ul>${own.map(
        ({ operationId, method, summary }) =>
          html`<li><a href="#${operationId}"><span class="method ${method.toLowerCase()}">${method}</span>
            ${summary}</a></li>`,
      )}</ul></li>`,
    )}
    ${chapters.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
    <li><a href="#schemas">Schemas</a></li>
  </ul></details>
</nav>
<main id="main">
  <h1 id="top">${document.info.title} API</h1>
  ${renderTour(about.tour, document, origin)}
  <section id="rules"><h2>General rules</h2>${renderInlineMarkup(document.info.description)}</section>
  ${byTag.map(
    ({ name, description, operations: own }) => html`<section class="operations" id="${anchor(name)}">
      <h2>${name}</h2><p>${description}</p>
      ${own.map((operation) => renderOperation(operation, document, origin))}
    </section>`,
  )}
  ${chapters.map(
    ({ id, title, render }) => html`<section class="chapter" id="${id}"><h2>${title}</h2>${render(origin)}</section>`,
  )}
  ${renderSchemas(document)}
  <p id="nothing" hidden>No matches.</p>
</main>
</div>
<script type="module">${raw(parts.script)}</script>
</body>
</html>`
  return String(page)
}

function renderErrors(document: OpenApiDocument): Html {
  const { schemas, responses } = document.components
  const problem = schemas.Problem ?? {}
  return html`${table(
    ['Status', 'When', 'Headers'],
    Object.entries(responses).map(
      ([name, { description, headers = {} }]) => html`<tr>
        <th scope="row">${name === 'Unexpected' ? 'other' : name.replace('Problem', '')}</th>
        <td>${description}</td><td>${Object.keys(headers).join(', ')}</td></tr>`,
    ),
  )}
    <p>Body of every error:</p>
    ${jsonBlock(sampleOf(problem, schemas))}
    <h3>Codes</h3>
    ${table(
      ['Code', 'Status', 'Meaning'],
      Object.entries(document['x-error-codes']).map(
        ([code, { status, meaning }]) => html`<tr>
        <th scope="row"><code>${code}</code></th><td>${status}</td><td>${meaning}</td></tr>`,
      ),
    )}`
}

function renderSchemas({ components: { schemas } }: OpenApiDocument): Html {
  return html`<section id="schemas"><h2>Schemas</h2>
    ${Object.entries(schemas).map(
      ([name, schema]) => html`<details class="schema" id="schema-${name}"><summary>${name}</summary>
      ${schema.description === undefined ? '' : html`<p>${schema.description}</p>`}
      ${renderFields(schema, schemas)}</details>`,
    )}</section>`
}

function anchor(tag: string): string {
  return `tag-${tag.toLowerCase().replaceAll(' ', '-')}`
}
