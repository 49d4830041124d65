import { positionLabel } from '#dashboard/live/place.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import type { CartJson } from '#shared/wire/carts.ts'

/** Formats the position: "Hole 8", the name of a zone, or the best known substitute. */
export function placeText(cart: CartJson): string {
  const { places } = fleetTexts()
  const place = positionLabel(cart)
  if (place.kind === 'hole') return places.hole(place.hole)
  return place.kind === 'zone' ? place.name : places[place.kind]
}
