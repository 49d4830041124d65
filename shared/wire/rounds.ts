import { z } from 'zod'
import { CAUSES } from '#shared/rounds/cause.ts'
import { currentHole, minutesBehind } from '#shared/rounds/pace.ts'
import type { CartRound } from '#shared/rounds/round.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { bySchema } from './carts.ts'
import { dateParam, isoSchema, listQuery, pageQuery, paginationSchema } from './schema/params.ts'

const holeSchema = z.number().int().meta({ description: 'Number of the hole.', example: 7 })

const roundHoleSchema = z.object({
  hole: holeSchema,
  entered_at: isoSchema,
  left_at: isoSchema.nullable().meta({
    description: 'Time at which the cart left the hole; null while it is being played.',
  }),
})

export const roundSchema = z
  .object({
    round_id: z.string().meta({
      description: 'Id of the round, stable while it lasts.',
      example: 'cart-07-mfk0q2t4',
    }),
    cart: z.string().meta({ description: 'Cart as in GET /carts.', example: '17' }),
    party_id: z.string().nullable().meta({
      description: 'Party that the cart was given out to when the round began; null for none.',
    }),
    started_at: isoSchema.meta({
      description: 'Time at which the cart left parking, or was first seen outside.',
    }),
    ended_at: isoSchema.nullable().meta({ description: 'Time of the return; null while the round lasts.' }),
    start_hole: holeSchema,
    holes: z.array(roundHoleSchema).meta({
      description:
        'Holes played, by entered_at; a hole that is left and soon entered again counts once. Crossing a hole does ' +
        'not count.',
    }),
    current_hole: holeSchema.nullable().meta({ description: 'Hole that the cart is on; null for none.' }),
    minutes_behind: z
      .number()
      .nullable()
      .meta({
        description:
          'Minutes since the first hole was entered, less minutes_per_hole of the site for each hole that was left; ' +
          'negative if the round is ahead, null if the cart is on no hole.',
        example: 12.5,
      }),
    distance: z.number().meta({ description: 'Distance so far in metres.', example: 6420 }),
    duration: z.number().int().meta({ description: 'Duration so far in seconds.', example: 9240 }),
  })
  .meta({ id: 'Round' })
export type RoundJson = z.infer<typeof roundSchema>

export const activeRoundsSchema = z
  .object({ rounds: z.array(roundSchema).meta({ description: 'Active rounds, by started_at.' }) })
  .meta({ id: 'ActiveRounds' })

export const roundListSchema = z
  .object({
    rounds: z.array(roundSchema).meta({ description: 'Rounds, by started_at.' }),
    pagination: paginationSchema,
    warnings: z
      .array(z.string())
      .optional()
      .meta({ description: 'Readable list of data that may be missing because of damaged blocks.' }),
  })
  .meta({ id: 'RoundList' })

const ORDER = 'Order by started_at: asc is oldest first, desc newest first.'

export const activeRoundQuerySchema = listQuery('asc', ORDER)

export const roundQuerySchema = pageQuery('asc', ORDER).extend({
  from: dateParam.meta({ description: 'Only rounds that began at this time or later; ISO 8601.' }),
  to: dateParam.meta({ description: 'Only rounds that began at this time or earlier; at most 31 days after from.' }),
  cart: z.string().optional().meta({ description: 'Filter by cart.', example: '17' }),
})

const minutes = z.number()
const paceId = z.string().meta({
  description: 'Party to which the carts were given, else the round_id of the first cart.',
  example: 'cart-07-mfk0q2t4',
})

const pacePartySchema = z.object({
  pace_id: paceId,
  party_id: z.string().nullable().meta({ description: 'Party to which the carts were given; null for none.' }),
  players: z.array(z.string()).meta({ description: 'Names of the players of the party.' }),
  carts: z.array(z.string()).meta({ description: 'Carts in scope.', example: ['17', '18'] }),
  start_hole: holeSchema.meta({ description: 'Hole on which it began.' }),
  current_hole: holeSchema.nullable().meta({ description: 'Null between two holes.' }),
  holes_done: z.number().int().meta({ description: 'Number of holes that it has left.' }),
  late_min: minutes.meta({ description: 'Minutes more than minutes_per_hole for the holes so far.' }),
  waited_min: minutes.meta({ description: 'Minutes of these for which the party ahead was in the way.' }),
  own_min: minutes.meta({ description: 'late_min less waited_min.' }),
  gap_min: minutes.nullable().meta({ description: 'Minutes to the party ahead; null for none on a round.' }),
  gap_holes: z.number().int().nullable().meta({ description: 'Holes to the party ahead; 0 on the same one.' }),
  ahead: paceId.nullable().meta({ description: 'Party that entered the present or last hole before this one.' }),
  is_waiting: z.boolean().meta({
    description:
      'True if the party ahead is on the hole for longer than parties on pace share it, or waits there itself.',
  }),
  cause: z.enum(CAUSES).meta({
    description:
      'on_pace: less than delay_from_min late. delayed: late because of others. delays_others: a delayed party waits ' +
      'for it. behind: late through its own play, and holds up no other.',
  }),
  delayed_by: paceId.nullable().meta({ description: 'Party at the head of those for which it waited.' }),
  delays: z.array(paceId).meta({ description: 'Parties that it delays.' }),
  projected_end: isoSchema.nullable().meta({ description: 'End if it continues at minutes_per_hole.' }),
  started_at: isoSchema.meta({ description: 'Time at which its first cart left parking.' }),
  last_note: z
    .object({ at: isoSchema, text: z.string().meta({ description: 'Text of the note.' }), by: bySchema.nullable() })
    .nullable()
    .meta({ description: 'Newest note of the party.' }),
})

/** `GET /pace` */
export const paceSchema = z
  .object({
    judged_at: isoSchema.meta({ description: 'Time of the judgement.' }),
    minutes_per_hole: minutes.meta({ description: 'As in GET /site.' }),
    tee_interval_min: minutes.meta({ description: 'As in GET /site.' }),
    delay_from_min: minutes.meta({ description: 'As in GET /site.' }),
    parties: z.array(pacePartySchema).meta({
      description: 'Parties on a round: delays_others, delayed, behind, on_pace, the worst first.',
    }),
    hold_up: z
      .object({
        pace_id: paceId,
        hole: holeSchema.meta({ description: 'Hole on which it lost most of its own minutes.' }),
        minutes: minutes.meta({ description: 'Its own_min.' }),
        delays: z.array(paceId),
      })
      .nullable()
      .meta({ description: 'Party that delays most others; null for none.' }),
    projected_end: isoSchema.nullable().meta({ description: 'Latest end of the parties.' }),
  })
  .meta({ id: 'Pace' })
export type PaceJson = z.infer<typeof paceSchema>
export type PacePartyJson = z.infer<typeof pacePartySchema>

/** Fields of a round that depend on the time of the request. */
export function toPaceJson({ round }: CartRound, minutesPerHole: number, nowMs: number) {
  const behind = minutesBehind(round, minutesPerHole, nowMs)
  return {
    minutes_behind: behind === null ? null : Math.round(behind * 10) / 10,
    distance: Math.round(round.distanceM * 10) / 10,
    duration: Math.max(0, Math.round(((round.endedMs ?? nowMs) - round.startedMs) / 1000)),
  }
}

/** Fields of a round that change only when a hole is entered or left. */
export function toHolesJson({ cart, round }: CartRound, partyId: string | null) {
  const [first] = round.holes
  return {
    round_id: round.id,
    cart,
    party_id: partyId,
    started_at: toIso(round.startedMs),
    ended_at: isoOrNull(round.endedMs),
    start_hole: first?.hole ?? 0,
    holes: round.holes.map(({ hole, enteredMs, leftMs }) => ({
      hole,
      entered_at: toIso(enteredMs),
      left_at: isoOrNull(leftMs),
    })),
    current_hole: currentHole(round)?.hole ?? null,
  }
}

/** Round in the form of every list. */
export function toRoundJson(
  round: CartRound,
  { partyId, minutesPerHole, nowMs }: { partyId: string | null; minutesPerHole: number; nowMs: number },
): RoundJson {
  return { ...toHolesJson(round, partyId), ...toPaceJson(round, minutesPerHole, nowMs) }
}
