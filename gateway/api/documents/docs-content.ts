import { html } from 'hono/html'
import { type Html, shell, table } from '#shared/http/docs/html.ts'
import type { DocsContent } from '#shared/http/docs/page.ts'
import { settingsChapter } from '#shared/http/docs/settings.ts'
import type { Setting } from '#shared/wire/settings.ts'
import { TOUR } from './docs-tour.ts'
import { MQTT_TOPICS, REALTIME_MESSAGES, REALTIME_PATH } from './messages.ts'

/** Content of `/docs` in addition to the operations. */
export function createDocsContent(settings: readonly Setting[]): DocsContent {
  return {
    tour: TOUR,
    chapters: [
      { id: 'realtime', title: 'Realtime messages', render: renderRealtime },
      { id: 'mqtt', title: 'MQTT topics', render: renderMqtt },
      settingsChapter('gateway', settings),
    ],
  }
}

function renderRealtime(origin: string): Html {
  const address = `${origin.replace(/^http/, 'ws')}${REALTIME_PATH}`
  return html`<p>A WebSocket with JSON messages. Programs send the key in the header <code>X-API-Key</code>. Browsers
    cannot send
    headers: they connect with <code>authenticate=message</code> and send <code>authenticate</code> within 10 seconds,
    before
    anything else; the gateway answers <code>connected</code>. A browser that is signed in needs neither: it sends its
    cookie.
    The parameter <code>api_key</code> works too, but addresses end in
    logs and histories. A bad key is refused with 401, in a message with <code>error</code> and 4401. Pings come every
    30
    seconds. Messages that come together are sent together, up to 25 ms later (longer with very many readers), several
    in one
    TCP segment; the order of a connection's messages is that in which things happened. Close codes: 1001 the gateway
    stops, 1003 a message was not text, 1008 the client broke the rules, 1009 a message
    is over 64 KiB, 1013 the client reads too slowly or has too many connections, 4401 the key or session is over, or
    did not come.</p>
    ${shell(`${address}?authenticate=message`)}
    ${table(
      ['Message', 'From', 'What it is'],
      REALTIME_MESSAGES.map(
        ({ type, from, description, example }) => html`<tr>
        <th scope="row"><code>${type}</code></th><td>${from}</td>
        <td>${description} <code class="line">${JSON.stringify(example)}</code></td></tr>`,
      ),
    )}`
}

function renderMqtt(): Html {
  return html`<p>MQTT 3.1.1 over TCP (1883), TLS (8883 where it is set up) and WebSocket at <code>/mqtt</code>. A
    device logs in with its
    hardware_id as client id and user name. A message with QoS 1 is acknowledged once it is on the disk. Any other
    program
    logs in with a user_id as user name and the API key as password: it reads the topics of the devices in its scope; an
    admin reads all, and may publish on any topic that does not begin with <code>dev/</code>, <code>sit/</code> or
    <code>$</code>.</p>
    ${table(
      ['Topic', 'From', 'QoS', 'What it is'],
      MQTT_TOPICS.map(
        ({ topic, from, qos, retained, description, example }) => html`<tr>
        <th scope="row"><code>${topic}</code></th><td>${from}</td><td>${qos}${retained ? ', retained' : ''}</td>
        <td>${description} <code class="line">${JSON.stringify(example)}</code></td></tr>`,
      ),
    )}`
}
