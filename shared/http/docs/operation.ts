import { html } from 'hono/html'
import type { OpenApiDocument, Operation, Parameter } from '../openapi.ts'
import { sampleOf } from '../openapi-sample.ts'
import type { JsonSchema } from '../openapi-schemas.ts'
import { type Html, jsonBlock, renderInlineMarkup, shell, table } from './html.ts'
import { explanationOf, renderFields, typeOf } from './schema.ts'
import { curlOf } from './tour.ts'

export interface PlacedOperation extends Operation {
  method: string
  path: string
}

/** Renders an operation: parameters, responses, and a shell command that calls it. */
export function renderOperation(operation: PlacedOperation, document: OpenApiDocument, origin: string): Html {
  const { operationId, method, path, summary, description, parameters, requestBody, deprecated } = operation
  const { schemas } = document.components
  const bodySchema = requestBody?.content['application/json']?.schema
  const body = bodySchema && sampleOf(bodySchema, schemas)
  const hasKey = operation.security.length > 0
  const call = { method, path: examplePath(path, parameters), body, url: `"${origin}`, end: '"', hasKey }
  return html`<details class="operation" id="${operationId}">
    <summary>
      <span class="method ${method.toLowerCase()}">${method}</span>
      <span class="path">${path}</span>
      <span class="summary">${summary}</span>
      ${accessOf(operation)}${deprecated ? html`<span class="badge">deprecated</span>` : ''}
    </summary>
    ${description === undefined ? '' : renderInlineMarkup(description)}
    ${
      parameters.length === 0
        ? ''
        : html`<h3>Parameters</h3>${table(['Name', 'Type', 'Description'], parameters.map(parameterRow))}`
    }
    ${
      bodySchema === undefined
        ? ''
        : html`<h3>Body</h3>
            ${bodySchema.$ref === undefined ? '' : html`<p>${typeOf(bodySchema)}</p>`}
            ${renderFields(bodySchema, schemas)}`
    }
    <h3>Try it</h3>
    ${shell(curlOf(call))}
    <h3>Responses</h3>
    ${Object.entries(operation.responses).map(([status, response]) => renderResponse(status, response, document))}
  </details>`
}

function accessOf({ security }: Operation): Html {
  const [needed] = security
  if (needed === undefined) return html`<span class="badge open">no key</span>`
  return html`${needed.ApiKeyAuth?.map((role) => html`<span class="badge admin">${role}</span>`)}`
}

function parameterRow({ name, in: place, required, description, schema }: Parameter): Html {
  return html`<tr>
    <th scope="row"><code>${name}</code> <small>${place}${required ? '' : ', optional'}</small></th>
    <td>${typeOf(schema.patternProperties === undefined ? schema : { type: 'string' })}</td>
    <td>${explanationOf(schema, description)}</td>
  </tr>`
}

function renderResponse(status: string, response: Operation['responses'][string], document: OpenApiDocument): Html {
  if ('$ref' in response) {
    const name = response.$ref.split('/').at(-1) ?? ''
    if (status === 'default') return html``
    const shared = document.components.responses[name]
    return html`<p class="answer"><a href="#errors"><b class="status error">${status}</b></a>
      ${shared?.description}</p>`
  }
  const { description, content = {}, headers = {} } = response
  const kind = Number(status) < 400 ? 'good' : 'error'
  const types = Object.keys(content)
  const own = Object.keys(headers).filter((name) => name !== 'X-Request-Id')
  const schema = content['application/json']?.schema
  return html`<p class="answer"><b class="status ${kind}">${status}</b> ${description}${
    schema === undefined ? '' : html` <span class="limit">${typeOf(schema)}</span>`
  }${types.length > 1 || schema === undefined ? html` <span class="limit">${types.join(', ')}</span>` : ''}${
    own.length === 0 ? '' : html` <span class="limit">headers ${own.join(', ')}</span>`
  }</p>${kind === 'good' && schema !== undefined ? renderAnswer(schema, document) : ''}`
}

/** Renders the fields of an inline schema, and an example. */
function renderAnswer(schema: JsonSchema, { components: { schemas } }: OpenApiDocument): Html {
  const fields = schema.$ref === undefined && schema.properties !== undefined ? renderFields(schema, schemas) : html``
  const sample = jsonBlock(sampleOf(schema, schemas))
  return html`${fields}<details class="sample"><summary>Example</summary>${sample}</details>`
}

function examplePath(path: string, parameters: readonly Parameter[]): string {
  const exampleOf = (name: string) => String(parameters.find((one) => one.name === name)?.schema.examples?.[0] ?? '1')
  const filled = path.replaceAll(/\{(.+?)\}/g, (_, name: string) => encodeURIComponent(exampleOf(name)))
  const needed = parameters.filter(({ in: place, required }) => place === 'query' && required)
  const query = needed.map(({ name }) => `${name}=${encodeURIComponent(exampleOf(name))}`).join('&')
  return `${filled}${query === '' ? '' : `?${query}`}`
}
