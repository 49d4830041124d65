import type { OpenAPIHono } from '@hono/zod-openapi'
import { canSee } from '#domain/access.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import type { JudgedParty } from '#shared/rounds/cause.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { type PaceJson, type PacePartyJson, paceSchema } from '#shared/wire/rounds.ts'
import { type ApiEnv, createApi, staffOnly } from '../api-env.ts'
import type { CourseDeps, MachineDeps } from '../deps.ts'

/** `/pace`: how late parties are, and by whom they are delayed. For staff. */
export function createPaceApi({ pace, carts, site, clock }: CourseDeps & MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/pace', 'Judge the pace of parties', {
      operationId: 'judgePace',
      description:
        'Compares the time that parties took for each hole with minutes_per_hole, and separates those that waited ' +
        'for others from those that made them wait. All carts count; parties with a cart in scope are shown.',
      middleware: [staffOnly],
      responses: answers(paceSchema, 'Parties on a round.', 403),
    }),
    (c) => {
      const { caller } = c.var.user
      const seen = new Set(
        carts.all
          .filter(({ devices }) => devices.some(({ row }) => canSee(caller, row.hardwareId)))
          .map(({ key }) => key),
      )
      return c.json(toPaceJson(pace.judge(), seen), 200)
    },
  )

  /** `seen` are the carts in scope. */
  function toPaceJson(judged: readonly JudgedParty[], seen: ReadonlySet<string>): PaceJson {
    const shown = judged.filter(({ party }) => party.rounds.some(({ cart }) => seen.has(cart)))
    const ids = new Set(shown.map(({ party }) => party.paceId))
    const parties = shown.map((one) => toPartyJson(one, seen, ids))
    const [first] = parties
    const { minutesPerHole, teeIntervalMin, delayFromMin } = site.settings
    return {
      judged_at: toIso(clock.nowMs()),
      minutes_per_hole: minutesPerHole,
      tee_interval_min: teeIntervalMin,
      delay_from_min: delayFromMin,
      parties,
      hold_up:
        first?.cause === 'delays_others'
          ? { pace_id: first.pace_id, hole: shown[0]?.slowestHole ?? 0, minutes: first.own_min, delays: first.delays }
          : null,
      projected_end: parties.reduce<string | null>(
        (latest, { projected_end: end }) => (end !== null && end > (latest ?? '') ? end : latest),
        null,
      ),
    }
  }

  return api
}

/** `seen` are the carts, `ids` the parties in scope; references to others are left out. */
function toPartyJson(one: JudgedParty, seen: ReadonlySet<string>, ids: ReadonlySet<string>): PacePartyJson {
  const { party, lateMin, waitedMin } = one
  const shownId = (id: string | null) => (id !== null && ids.has(id) ? id : null)
  const ahead = shownId(one.ahead)
  return {
    pace_id: party.paceId,
    party_id: party.handedOut?.partyId ?? null,
    players: [...(party.handedOut?.players ?? [])],
    carts: [...new Set(party.rounds.map(({ cart }) => cart))].filter((cart) => seen.has(cart)),
    start_hole: one.startHole,
    current_hole: one.currentHole,
    holes_done: one.holesDone,
    late_min: tenths(lateMin),
    waited_min: tenths(waitedMin),
    own_min: tenths(one.ownMin),
    gap_min: one.gapMin === null ? null : tenths(one.gapMin),
    gap_holes: one.gapHoles,
    ahead,
    is_waiting: one.isWaiting,
    cause: one.cause,
    delayed_by: shownId(one.delayedBy),
    delays: one.delays.filter((id) => ids.has(id)),
    projected_end: isoOrNull(one.projectedEndMs),
    started_at: toIso(Math.min(...party.rounds.map(({ round }) => round.startedMs))),
    last_note: party.handedOut?.notes.at(-1) ?? null,
  }
}

function tenths(minutes: number): number {
  return Math.round(minutes * 10) / 10
}
