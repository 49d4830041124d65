import { html, raw } from 'hono/html'
import { type Html, jsonBlock, prose, shell, table } from './docs-html.ts'
import { type PlacedOperation, renderOperation } from './docs-operation.ts'
import { renderFields } from './docs-schema.ts'
import { renderTour } from './docs-tour.ts'
import type { OpenApiDocument } from './openapi.ts'
import { sampleOf } from './openapi-sample.ts'

/** Style and script of the page, which stand in it, so that it needs nothing from anywhere. */
export interface PageParts {
  style: string
  script: string
}

/** The OpenAPI document as a page for people, with the address of the reader's own gateway in every command. */
export function renderDocsPage(document: OpenApiDocument, origin: string, parts: PageParts): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, one]): PlacedOperation => ({ ...one, method: method.toUpperCase(), path }),
    ),
  )
  const byTag = document.tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ tags }) => tags.includes(tag.name)),
  }))
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>cartbarn API</title>
<style>${raw(parts.style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
  <a class="name" href="#top">cartbarn <small>API ${document.info.version}</small></a>
  <input id="filter" type="search" placeholder="Filter (press /)" aria-label="Filter operations" autocomplete="off" hidden>
  <a href="/openapi.json">openapi.json</a>
</header>
<div class="columns">
<nav aria-label="Contents">
  <details open><summary>Contents</summary>
  <ul>
    <li><a href="#tour">From nothing to a locked cart</a></li>
    <li><a href="#rules">What holds everywhere</a></li>
    ${byTag.map(
      ({ name, operations: own }) => html`<li class="tag"><a href="#${anchor(name)}">${name}</a>
      <ul>${own.map(
        ({ operationId, method, summary }) =>
          html`<li data-for="${operationId}"><a href="#${operationId}"><span class="method ${method.toLowerCase()}">${method}</span> ${summary}</a></li>`,
      )}</ul></li>`,
    )}
    <li><a href="#realtime">Realtime messages</a></li>
    <li><a href="#mqtt">MQTT topics</a></li>
    <li><a href="#errors">Errors</a></li>
    <li><a href="#schemas">Schemas</a></li>
  </ul></details>
</nav>
<main id="main">
  <h1 id="top">cartbarn API</h1>
  ${renderTour(document, origin)}
  <section id="rules"><h2>What holds everywhere</h2>${prose(document.info.description)}</section>
  ${byTag.map(
    ({ name, description, operations: own }) => html`<section class="operations" id="${anchor(name)}">
      <h2>${name}</h2><p>${description}</p>
      ${own.map((operation) => renderOperation(operation, document, origin))}
    </section>`,
  )}
  <p id="nothing" hidden>Nothing fits.</p>
  ${renderRealtime(document, origin)}
  ${renderMqtt(document)}
  ${renderErrors(document)}
  ${renderSchemas(document)}
</main>
</div>
<script>${raw(parts.script)}</script>
</body>
</html>`
  return String(page)
}

function renderRealtime(document: OpenApiDocument, origin: string): Html {
  const { path, messages } = document['x-realtime']
  return html`<section id="realtime"><h2>Realtime messages</h2>
    <p>A WebSocket that speaks JSON: the key is the parameter <code>api_key</code>, or the header <code>X-API-Key</code>.
    A bad key is refused with 401. Pings come every 30 seconds. Close codes: 1001 the gateway stops, 1003 no text, 1008
    abuse, 1009 over 64 KiB, 1013 reads too slowly, 4401 the key is void.</p>
    ${shell(`${origin.replace(/^http/, 'ws')}${path}?api_key=$KEY`)}
    ${table(
      ['Message', 'From', 'What it is'],
      messages.map(
        ({ type, from, description, example }) => html`<tr>
        <th scope="row"><code>${type}</code></th><td>${from}</td>
        <td>${description} <code class="line">${JSON.stringify(example)}</code></td></tr>`,
      ),
    )}</section>`
}

function renderMqtt(document: OpenApiDocument): Html {
  return html`<section id="mqtt"><h2>MQTT topics</h2>
    <p>MQTT 3.1.1 over TCP (1883), TLS (8883 where it is set up) and WebSocket at <code>/mqtt</code>. A device logs in with its
    hardware_id as client id and user name. A message with QoS 1 is acknowledged once it is on the disk. Any other program
    logs in with a user_id as user name and the API key as password: it reads the topics of the devices in its scope; an
    admin reads all, and may publish on any topic that does not begin with <code>dev/</code>, <code>sit/</code> or <code>$</code>.</p>
    ${table(
      ['Topic', 'From', 'QoS', 'What it is'],
      document['x-mqtt'].topics.map(
        ({ topic, from, qos, retained, description, example }) => html`<tr>
        <th scope="row"><code>${topic}</code></th><td>${from}</td><td>${qos}${retained ? ', retained' : ''}</td>
        <td>${description} <code class="line">${JSON.stringify(example)}</code></td></tr>`,
      ),
    )}</section>`
}

function renderErrors(document: OpenApiDocument): Html {
  const { schemas, responses } = document.components
  const problem = schemas.Problem ?? {}
  return html`<section id="errors"><h2>Errors</h2>
    ${table(
      ['Status', 'When', 'Headers'],
      Object.entries(responses).map(
        ([name, { description, headers = {} }]) => html`<tr>
        <th scope="row">${name === 'Unexpected' ? 'other' : name.replace('Problem', '')}</th>
        <td>${description}</td><td>${Object.keys(headers).join(', ')}</td></tr>`,
      ),
    )}
    <p>The body, always:</p>
    ${jsonBlock(sampleOf(problem, schemas))}
    <h3>Codes</h3>
    ${table(
      ['Code', 'Status', 'What it means'],
      Object.entries(document['x-error-codes']).map(
        ([code, { status, meaning }]) => html`<tr>
        <th scope="row"><code>${code}</code></th><td>${status}</td><td>${meaning}</td></tr>`,
      ),
    )}</section>`
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
