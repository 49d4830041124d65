import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Caller } from '#domain/access.ts'
import type { CommandBody, CommandCaller } from '#services/commands/commands.ts'
import type { PartyOutcome } from '#services/parties/parties.ts'
import { readSheetFile, readSheetJson } from '#services/parties/tee-sheet.ts'
import { requireStillIn } from '#services/people/login.ts'
import { inTurns } from '#shared/budgets/in-turns.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import { paginationOf } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { bytesBodyUpTo, jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { readJsonObject } from '#shared/json-body.ts'
import { idempotencyHeaders } from '#shared/wire/commands.ts'
import {
  deletedPartySchema,
  handOutSchema,
  newPartyNoteSchema,
  newPartySchema,
  partyListSchema,
  partyParams,
  partyPatchSchema,
  partyQuerySchema,
  partyResultsSchema,
  partyReturnSchema,
  partySchema,
  SHEET_BYTES_MAX,
  sheetJsonSchema,
  sheetQuerySchema,
  sheetResultSchema,
  teeSheetSchema,
} from '#shared/wire/parties/parties.ts'
import { partyDayOf } from '#shared/wire/parties/party-json.ts'
import { type ApiEnv, createApi, listerOf, requireStaff, staffOnly } from '../api-env.ts'
import type { CommandsDeps, CourseDeps, PeopleDeps } from '../deps.ts'

const JSON_TYPE = 'application/json'
const REFUSALS = [400, 403, 404, 409, 413, 415] as const
const RESULTS = 'The party, and for each cart its command, or the reason for having none.'

/** `/parties`: tee times, and the carts that are given out to them. For staff. */
export function createPartiesApi({
  parties,
  users,
  site,
}: PeopleDeps & CommandsDeps & CourseDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  function personOf(c: Context<ApiEnv>) {
    const { userId } = c.var.user.caller
    return { user_id: userId, name: users.find(userId)?.row.name ?? '' }
  }

  /** Returns the caller's current rights, read when the change runs. Throws if they no longer are those of staff. */
  function staffNow(c: Context<ApiEnv>): () => Caller {
    const { user } = c.var
    return () => {
      const caller = requireStillIn(user)
      requireStaff(caller)
      return caller
    }
  }

  function askingOf(c: Context<ApiEnv>, idempotencyKey: string | undefined): CommandCaller {
    return { caller: c.var.user.caller, idempotencyKey, callerNow: staffNow(c) }
  }

  function partyOf(c: Context<ApiEnv>, partyId: string) {
    const { caller } = c.var.user
    return parties.toJson(caller, parties.require(caller, partyId))
  }

  function answerOf(c: Context<ApiEnv>, { outcome, isRepeated }: CommandBody<PartyOutcome>) {
    if (isRepeated) c.header('idempotency-replayed', 'true')
    return { party: partyOf(c, outcome.partyId), results: [...outcome.results] }
  }

  api.openapi(
    listRoute('/parties', 'List parties', {
      description: 'Parties without carts, and those with a cart in scope. For staff and admins.',
      middleware: [staffOnly],
      request: { query: partyQuerySchema },
      responses: answers(partyListSchema, 'Parties, by tee_time.', 400, 403),
    }),
    async (c) => {
      const { date, from = date, to = date, state, cart, search, ...page } = c.req.valid('query')
      const days = { from: partyDayOf(from, site.timeZone), to: partyDayOf(to, site.timeZone) }
      if (days.from !== undefined && days.to !== undefined && days.from > days.to)
        throw new InvalidRequestError('invalid_range', 'from is after to')
      const { caller } = c.var.user
      const query = { ...days, state, cart, search, order: page.order, limit: page.limit, offset: page.offset }
      const found = await parties.list(caller, query, listerOf(c, page.offset > 0))
      const shown = found.map((party) => parties.toJson(caller, party))
      return c.json({ parties: shown, pagination: paginationOf(page, shown) }, 200)
    },
  )

  api.openapi(
    route.post('/parties', 'Create a party and give out carts', {
      description:
        'With carts it hands them out in one action, all or none, and unlocks them; an offline cart is unlocked when ' +
        'it connects. For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { headers: idempotencyHeaders, body: body(newPartySchema) },
      responses: { 201: json(partyResultsSchema, RESULTS), ...problems(...REFUSALS) },
    }),
    async (c) => {
      const asking = askingOf(c, c.req.valid('header')['idempotency-key'])
      const answer = answerOf(c, await parties.create(c.req.valid('json'), personOf(c), asking))
      c.header('location', `/parties/${answer.party.party_id}`)
      return c.json(answer, 201)
    },
  )

  api.openapi(
    route.post('/parties/import', 'Import a tee sheet', {
      description:
        'Takes all lines or none; `errors` of the problem lists the invalid lines. A line changes the party of its ' +
        'day with its external_id, else the one of the sheet with its tee_time and start_hole. Repeating the request ' +
        'changes nothing. For staff and admins.',
      middleware: [staffOnly, bytesBodyUpTo(SHEET_BYTES_MAX, ['text/csv', JSON_TYPE])],
      request: {
        query: sheetQuerySchema,
        body: {
          required: true,
          content: { 'text/csv': { schema: teeSheetSchema }, [JSON_TYPE]: { schema: sheetJsonSchema } },
        },
      },
      responses: answers(sheetResultSchema, 'Number of parties by what happened to them.', 400, 403, 413, 415),
    }),
    async (c) => {
      const { date, dry_run, replace } = c.req.valid('query')
      const sheet = { date, timeZone: site.timeZone }
      const bytes = new Uint8Array(await c.req.arrayBuffer())
      const isJson = c.req.header('content-type')?.toLowerCase().startsWith(JSON_TYPE)
      const rows = isJson ? readSheetJson(linesOf(bytes), sheet) : await inTurns(readSheetFile(bytes, sheet))
      const options = { by: personOf(c), isDryRun: dry_run === 'true', replaces: replace === 'true' }
      return c.json(await parties.importSheet(rows, options), 200)
    },
  )

  api.openapi(
    route.get('/parties/{id}', 'Get a party', {
      description: 'For staff and admins.',
      middleware: [staffOnly],
      request: { params: partyParams },
      responses: answers(partySchema, 'The party.', 403, 404),
    }),
    (c) => c.json(partyOf(c, c.req.valid('param').id), 200),
  )

  api.openapi(
    route.patch('/parties/{id}', 'Change a party', {
      description: 'A merge patch (RFC 7396). For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: partyParams, body: body(partyPatchSchema) },
      responses: answers(partySchema, 'The party as it is now.', ...REFUSALS),
    }),
    async (c) => {
      const party = await parties.patch(staffNow(c), c.req.valid('param').id, c.req.valid('json'))
      return c.json(parties.toJson(c.var.user.caller, party), 200)
    },
  )

  api.openapi(
    route.delete('/parties/{id}', 'Delete a booked party', {
      description: 'Only before a cart was given out. For staff and admins.',
      middleware: [staffOnly],
      request: { params: partyParams },
      responses: answers(deletedPartySchema, 'The party is deleted.', 403, 404, 409),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await parties.delete(staffNow(c), id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    route.post('/parties/{id}/carts', 'Give out carts to a party', {
      description: 'Gives out all carts or none, and unlocks them. For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: partyParams, headers: idempotencyHeaders, body: body(handOutSchema) },
      responses: answers(partyResultsSchema, RESULTS, ...REFUSALS),
    }),
    async (c) => {
      const asking = askingOf(c, c.req.valid('header')['idempotency-key'])
      const { id } = c.req.valid('param')
      return c.json(answerOf(c, await parties.give(id, c.req.valid('json'), personOf(c), asking)), 200)
    },
  )

  api.openapi(
    route.post('/parties/{id}/return', 'Return carts of a party', {
      description: 'Without carts: all that are out. For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: partyParams, headers: idempotencyHeaders, body: body(partyReturnSchema) },
      responses: answers(partyResultsSchema, RESULTS, ...REFUSALS),
    }),
    async (c) => {
      const asking = askingOf(c, c.req.valid('header')['idempotency-key'])
      const { id } = c.req.valid('param')
      return c.json(answerOf(c, await parties.return(id, c.req.valid('json'), asking)), 200)
    },
  )

  api.openapi(
    route.post('/parties/{id}/notes', 'Add a note to a party', {
      description: 'The newest 20 are kept; the same text within ten seconds is one note. For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: partyParams, body: body(newPartyNoteSchema) },
      responses: { 201: json(partySchema, 'The party with the note.'), ...problems(400, 403, 404, 413, 415) },
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      const party = await parties.addNote(staffNow(c), id, c.req.valid('json').text, personOf(c))
      c.header('location', `/parties/${id}`)
      return c.json(parties.toJson(c.var.user.caller, party), 201)
    },
  )

  return api
}

/** Throws `invalid_json`, `too_complex`, and `invalid_body` for anything but an object with a list of parties. */
function linesOf(bytes: Uint8Array): readonly unknown[] {
  const parties: unknown = Reflect.get(readJsonObject(bytes), 'parties')
  if (Array.isArray(parties)) return parties
  throw new InvalidRequestError('invalid_body', 'the body must be {"parties": [...]}')
}
