import { html } from 'hono/html'
import { LIMITS } from '#hub/sync/hello.ts'
import { type Html, table } from '#shared/http/docs/html.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import { BODY_PARTS } from './sync-body.ts'

const ENDPOINTS = [
  {
    call: 'POST /sync/v1/hello',
    body: 'protocol, site, epoch, instance, forked_from, program, clock_ms, clock_trusted, ends',
    meaning:
      'Send it first, and again after each start. The answer: server_time_ms, cursors, limits, warnings. 409 ' +
      'ahead: the hub has more of this epoch than the database of the gateway, so start a new epoch. 409 ' +
      'foreign_epoch: the database belongs to another site. 400 unsupported_protocol: update the hub.',
  },
  {
    call: 'POST /sync/v1/push',
    body: 'epoch, instance, parts: stream, from, to, count, prev_hash, hash, encoding, data (base64), is_resend',
    meaning:
      'The hub takes all parts or none. The answer: acked (the cursors it has committed), limits, ' +
      'intents_waiting, warnings. 409 cursor: the parts do not continue at the cursors of the hub, which the ' +
      'answer lists. 409 unknown_epoch: send hello. 400 invalid_hash, invalid_data, wrong_count, invalid_body: ' +
      'the parts were damaged on their way.',
  },
  {
    call: 'POST /sync/v1/latest',
    body: 'epoch, instance, at_ms, is_complete, devices, backlog',
    meaning:
      'The newest states of devices, as GET /devices/{id} of the gateway returns them. The hub keeps only the ' +
      'newest state of each device.',
  },
  {
    call: 'POST /sync/v1/audit',
    body: 'epoch, instance, kind, day_ms, groups: group, count, sum',
    meaning:
      'Compares the rows of one day. The answer: resend, the groups to send again as parts with is_resend, and ' +
      'extra, the groups of which the hub has more rows. A group may be in both lists, but only the first time ' +
      'it is compared.',
  },
  {
    call: 'GET /sync/v1/rebuild/:kind?after=NEXT&since=MS',
    body: '',
    meaning:
      'For a gateway that lost its database: what the hub has of the site, page by page. The kind is entities, ' +
      'audit_entries, notes, lock_events, geofence_events, gps or battery. The answer: count, content (JSON of ' +
      'rows; of gps and battery base64 of blocks), sum (its SHA-256), and next, to be given as after; null ends ' +
      'the kind. GET /sync/v1/rebuild gives an overview.',
  },
  {
    call: 'POST /sync/v1/rebuild',
    body: 'epoch, forked_from, ends',
    meaning:
      'The database made from the pages continues as this epoch, with its streams acknowledged up to their ' +
      'ends: nothing is sent again. The response: cursors, for the first hello.',
  },
  {
    call: 'GET /sync/v1/intents?after=N&wait=50',
    body: '',
    meaning:
      'Returns the intents with a number above N, as soon as there are any; wait is in seconds. The gateway ' +
      'sends the result of each as a note intent_result.',
  },
]

/** Section on the sync protocol, for developers of a gateway. */
export function renderSync(): Html {
  return html`<p>For programs that act as a gateway. Send HTTPS requests to <code>/sync/v1</code> with
    <code>Authorization: Bearer</code> and the key of
    the site. Bodies are JSON, which may be compressed (<code>Content-Encoding: gzip</code>), with at most
    ${LIMITS.body_bytes} bytes
    when unpacked, ${LIMITS.parts} parts and ${LIMITS.records} rows; larger parts than 20,000 rows have at most 64
    rows a
    byte. A body has at most ${BODY_PARTS.values} values and ${BODY_PARTS.keys} keys,
    ${BODY_PARTS.keysOfOne} in one object (400 too_complex). A body has 20 seconds to arrive. Answers name the limits
    of the hub; records_per_second is its rate for the site. Errors are problems as in the rest of the API: 401
    missing_site_key, invalid_site_key or
    revoked_site_key, 403 wrong_site, 413 payload_too_large and body_timeout (send less in one request), 400
    quarantine_full (the hub cannot read the data and its
    quarantine is full), 400 site_full (the hub keeps as much of the site as it may; notes and entities may still go,
    each in
    a request without other streams), 429 and 503 with <code>Retry-After</code>.</p>
    <p>The streams are ${SYNC_STREAMS.join(', ')}. Each has a cursor: a sequence number and a hash. A part continues at
    the cursor: its <code>prev_hash</code> is the hash of the cursor, and its own <code>hash</code> is SHA-256 over
    the part
    and <code>prev_hash</code>. The hub refuses a part that it already has and answers with its cursors, so that no
    row is
    ever stored twice; rows that it has acknowledged are on its disk. It also acknowledges rows that it cannot read, and
    keeps them in the quarantine of the site.</p>
    ${table(
      ['Request', 'Body', 'Meaning and answer'],
      ENDPOINTS.map(
        ({ call, body, meaning }) => html`<tr>
        <th scope="row"><code>${call}</code></th><td>${body}</td><td>${meaning}</td></tr>`,
      ),
    )}`
}
