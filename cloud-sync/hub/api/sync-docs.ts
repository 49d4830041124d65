import { html } from 'hono/html'
import { LIMITS } from '#hub/sync/hello.ts'
import { type Html, table } from '#shared/http/docs/html.ts'
import { SYNC_STREAMS } from '#shared/wire/sync.ts'

const ENDPOINTS = [
  {
    call: 'POST /sync/v1/hello',
    body: 'protocol, site, epoch, instance, forked_from, program, clock_ms, clock_trusted, ends',
    meaning:
      'First of all, and again after each start. The answer: server_time_ms, cursors, limits, warnings. 409 ahead: the hub has more of this epoch than the gateway ever had, so go on as a new epoch. 409 foreign_epoch: the database is of another site. 400 unsupported_protocol: update the hub.',
  },
  {
    call: 'POST /sync/v1/push',
    body: 'epoch, instance, parts: stream, from, to, count, prev_hash, hash, encoding, data (base64), is_resend',
    meaning:
      'All parts are taken or none. The answer: acked (committed), limits, intents_waiting, warnings. 409 cursor: they do not begin where the streams are; cursors says where that is. 409 unknown_epoch: say hello. 400 invalid_hash, invalid_data, wrong_count, invalid_body: damaged on its way.',
  },
  {
    call: 'POST /sync/v1/latest',
    body: 'epoch, instance, at_ms, is_complete, devices, backlog',
    meaning: 'The newest states of devices, as GET /devices/{id} of the gateway. Only the newest matters.',
  },
  {
    call: 'POST /sync/v1/audit',
    body: 'epoch, instance, kind, day_ms, groups: group, count, sum',
    meaning:
      'Compares the rows of a day. The answer: resend, the groups to send again as parts with is_resend, and extra, those of which the hub has more. A group may be in both, once.',
  },
  {
    call: 'GET /sync/v1/intents?after=N&wait=50',
    body: '',
    meaning:
      'What the head office wishes for, behind number N, as soon as there is any; wait is in seconds. What became of each comes back as a note intent_result.',
  },
]

/** What gateways say to a hub, for those who write one. */
export function renderSync(): Html {
  return html`<p>For programs that are a gateway: HTTPS to <code>/sync/v1</code> with <code>Authorization: Bearer</code> and the key of
    the site, bodies of JSON, as gzip if you like (<code>Content-Encoding: gzip</code>), at most ${LIMITS.body_bytes} bytes
    unpacked and ${LIMITS.parts} parts. Errors are problems as everywhere: 401 missing_site_key, invalid_site_key or
    revoked_site_key, 403 wrong_site, 413 payload_too_large (send less at once), 429 and 503 with <code>Retry-After</code>.</p>
    <p>The streams are ${SYNC_STREAMS.join(', ')}. Each has a cursor, which is a sequence number and a hash: a part goes on
    from it, <code>prev_hash</code> is the cursor's, and its own <code>hash</code> is SHA-256 over the part and that one. What
    comes again is refused with the cursors, so that nothing is ever there twice; what is acknowledged is on the disk. Rows
    that cannot be read are acknowledged too, and kept in the quarantine of the site.</p>
    ${table(
      ['Request', 'Body', 'What it is'],
      ENDPOINTS.map(
        ({ call, body, meaning }) => html`<tr>
        <th scope="row"><code>${call}</code></th><td>${body}</td><td>${meaning}</td></tr>`,
      ),
    )}`
}
