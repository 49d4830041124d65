import { html } from 'hono/html'
import type { OpenApiDocument } from '../openapi.ts'
import { findOperation } from '../openapi-paths.ts'
import { type Html, shell } from './html.ts'

export type TourAction =
  | { method: string; path: string; body?: unknown }
  | { publish: { topic: string; payload: Record<string, unknown> } }
  | { command: string }

export interface TourStep {
  title: string
  text: string
  actions: TourAction[]
}

/** Guided path through the API, from nothing to a working setup. */
export interface Walkthrough {
  title: string
  intro: string
  /** Prefix of the reader's key. */
  keyPrefix: string
  steps: readonly TourStep[]
}

/** Returns the steps that this program supports. */
export function tourOf({ steps }: Walkthrough, document: OpenApiDocument): TourStep[] {
  const isPossible = (action: TourAction) =>
    !('method' in action) || findOperation(document, action.method, action.path) !== undefined
  return steps
    .map((step) => ({ ...step, actions: step.actions.filter(isPossible) }))
    .filter(({ actions }) => actions.length > 0)
}

/** Renders the walkthrough as commands to copy, in order. */
export function renderTour(tour: Walkthrough, document: OpenApiDocument, origin: string): Html {
  return html`<section id="tour">
    <h2>${tour.title}</h2>
    <p>${tour.intro}</p>
    ${shell(`URL=${origin}\nKEY=${tour.keyPrefix}…`)}
    <ol class="tour">
      ${tourOf(tour, document).map(
        ({ title, text, actions }) => html`<li>
          <h3>${title}</h3>
          <p>${text}</p>
          ${shell(actions.map((action) => commandOf(action, origin)).join('\n'))}
        </li>`,
      )}
    </ol>
  </section>`
}

function commandOf(action: TourAction, origin: string): string {
  if ('command' in action) return action.command.replace('WS_URL', origin.replace(/^http/, 'ws'))
  if ('publish' in action) {
    const { topic, payload } = action.publish
    const retain = topic.endsWith('/st') ? ' -r' : ''
    const publish = `mosquitto_pub -h ${new URL(origin).hostname} -i cart-07 -q 1${retain} -t ${topic}`
    return `XDG_CONFIG_HOME=cart-07 ${publish} \\\n  -m '${JSON.stringify(payload)}'`
  }
  return curlOf({ ...action, url: '"$URL', end: '"' })
}

interface CurlCall {
  method: string
  path: string
  body?: unknown
  url: string
  end: string
  /** Defaults to true. */
  hasKey?: boolean
}

/** Returns a request as a curl command; the key is `$KEY`. */
export function curlOf({ method, path, body, url, end, hasKey = true }: CurlCall): string {
  const verb = method === 'GET' ? '' : `-X ${method} `
  const key = hasKey ? ` \\\n  -H "X-API-Key: $KEY"` : ''
  const json =
    body === undefined
      ? ''
      : ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`
  return `curl ${verb}${url}${path}${end}${key}${json}`
}
