import { isLockedOut, KIND_LETTERS } from '#dashboard/live/fleet/marker-style.ts'
import { partyNameOf } from '#dashboard/live/fleet/party-name.ts'
import { type Bitmap, CartBitmaps } from './cart-bitmaps.ts'
import { HEADINGS, isPlain, type Marker, type Markers, type ParkingCluster } from './markers.ts'
import { type Box, place, ROOM_PX, type Screen } from './placing.ts'

/** Text on the map: the number of a hole, or the name of a building or a range. */
export interface PlaceName {
  kind: 'hole' | 'clubhouse' | 'range' | 'building'
  /** Null for a place without a name of its own. */
  text: string | null
  /** Position on the map's plane. */
  x: number
  y: number
}

export interface ClusterTexts {
  open: (count: number) => string
  low: (count: number) => string
  /** Names of places that have none of their own. */
  places: Readonly<Record<'clubhouse' | 'range', string>>
}

export interface CartFrame {
  screen: Screen
  /** Clockwise rotation of the map, in radians. */
  rotation: number
  chosen: string | null
  words: ClusterTexts
  names: readonly PlaceName[]
  isDark: boolean
}

/** Half of the height of a name, and half of the size of a cart's sign. */
const NAME_PX = 11
const SIGN_PX = 18
/** Scale from which carts show who has them: zoom 17. */
const NAMED_SCALE = 2 ** 17 / 156_543.04
/** Positions of a name, the best first: its own, and around a cart there. */
const AROUND = [
  [0, 0],
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
] as const
/** Offset from the centre of a cart to that of the number of carts below it, to the left and up. */
const BELOW_PX = 20
/** Offset from the centre of a cart to that of its flag, to the right and up. */
const FLAG_PX = 14

/**
 * Canvas of the carts, above the map and equal in size. All signs are drawn on a sheet that is larger by `ROOM_PX` on
 * each side; while the map is only moved, a different section of the sheet is copied, which is one copy in place of one
 * for each sign.
 */
export class CartLayer {
  readonly canvas = document.createElement('canvas')
  readonly #context = this.canvas.getContext('2d')
  readonly #sheet = document.createElement('canvas')
  readonly #sheetContext = this.#sheet.getContext('2d')
  #bitmaps: CartBitmaps | null = null
  #ratio = 0
  /** Screen for which all signs have been drawn that move with the map; null if some do not. */
  #drawn: Screen | null = null

  constructor() {
    this.canvas.className = 'cart-canvas'
    // never added to the page; the class lets measurements find it
    this.#sheet.className = 'cart-sheet'
  }

  /** Drops the bitmaps, so that fonts that have just loaded are used. */
  forget(): void {
    this.#bitmaps = null
    this.#drawn = null
  }

  /** Moves the drawn signs to the present map position. Returns false if the sheet is too small and must be redrawn. */
  follow({ transform, widthPx, heightPx }: Screen): boolean {
    const drawn = this.#drawn
    if (drawn === null || devicePixelRatio !== this.#ratio) return false
    if (widthPx !== drawn.widthPx || heightPx !== drawn.heightPx) return false
    const isTurnedOrZoomed = [0, 1, 2, 3].some((at) => transform[at] !== drawn.transform[at])
    const [rightPx, downPx] = [transform[4] - drawn.transform[4], transform[5] - drawn.transform[5]]
    if (isTurnedOrZoomed || Math.max(Math.abs(rightPx), Math.abs(downPx)) > ROOM_PX) return false
    this.#show(rightPx, downPx)
    return true
  }

  draw(markers: Markers, frame: CartFrame): void {
    const context = this.#sheetContext
    if (context === null) return
    const { screen, chosen } = frame
    const bitmaps = this.#fit(screen)
    place(markers, screen, chosen)
    // a sign at the edge stays there while the map is moved; such signs come last
    this.#drawn = markers.all.at(-1)?.style === 'outside' ? null : screen
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, this.#sheet.width, this.#sheet.height)
    context.translate(this.#room(), this.#room())
    this.#drawAll(context, bitmaps, markers, frame)
    this.#show(0, 0)
  }

  #drawAll(context: CanvasRenderingContext2D, bitmaps: CartBitmaps, markers: Markers, frame: CartFrame): void {
    const { chosen } = frame
    const { isFar } = frame.screen
    const turned = Math.round((frame.rotation / (2 * Math.PI)) * HEADINGS)
    this.#drawNames(context, bitmaps, markers, frame)
    let arePillsDrawn = false
    if (frame.screen.scale >= NAMED_SCALE) this.#drawPlayers(context, bitmaps, markers, frame)
    for (const marker of markers.all) {
      // clusters are drawn above the carts without a problem, and below those with one
      if (!arePillsDrawn && !isPlain(marker)) {
        this.#drawPills(context, bitmaps, markers.pills, frame.words)
        arePillsDrawn = true
      }
      if (marker.isShown && marker.cart.cart !== chosen) this.#drawMarker(context, bitmaps, marker, turned, isFar)
    }
    if (!arePillsDrawn) this.#drawPills(context, bitmaps, markers.pills, frame.words)
    const one = chosen === null ? undefined : markers.find(chosen)
    if (one?.isShown !== true) return
    this.#blit(context, bitmaps.ring(), one.px, one.py)
    this.#drawMarker(context, bitmaps, one, turned, false)
  }

  #fit({ widthPx, heightPx }: Screen): CartBitmaps {
    const ratio = devicePixelRatio
    if (this.#bitmaps === null || ratio !== this.#ratio) {
      this.#ratio = ratio
      this.#bitmaps = new CartBitmaps(ratio)
    }
    const [width, height] = [Math.round(widthPx * ratio), Math.round(heightPx * ratio)]
    resize(this.canvas, width, height)
    resize(this.#sheet, width + 2 * this.#room(), height + 2 * this.#room())
    return this.#bitmaps
  }

  /** Margin of the sheet in screen pixels, as are all values below. */
  #room(): number {
    return Math.round(ROOM_PX * this.#ratio)
  }

  /** Offsets by whole pixels, which is sharper and faster. */
  #show(rightPx: number, downPx: number): void {
    if (this.#context === null) return
    const [x = 0, y = 0] = [rightPx, downPx].map((px) => Math.round(px * this.#ratio) - this.#room())
    this.#context.globalCompositeOperation = 'copy'
    this.#context.drawImage(this.#sheet, x, y)
  }

  #drawMarker(
    context: CanvasRenderingContext2D,
    bitmaps: CartBitmaps,
    marker: Marker,
    turned: number,
    isFar: boolean,
  ): void {
    const isDot = isFar && isPlain(marker)
    if (marker.heading >= 0 && !isDot) this.#blit(context, bitmaps.arrow(marker.heading + turned), marker.px, marker.py)
    this.#blit(context, bitmaps.body(marker.style, isDot ? '' : marker.label), marker.px, marker.py)
    if (marker.below > 0) this.#blit(context, bitmaps.below(marker.below), marker.px - BELOW_PX, marker.py - BELOW_PX)
    if (marker.cart.exempt !== null) this.#blit(context, bitmaps.flag(), marker.px + FLAG_PX, marker.py - FLAG_PX)
    const letter = KIND_LETTERS[marker.cart.kind]
    if (letter !== '') this.#blit(context, bitmaps.badge(letter), marker.px - FLAG_PX, marker.py + FLAG_PX)
    if (isLockedOut(marker.cart)) this.#blit(context, bitmaps.lock(), marker.px + FLAG_PX, marker.py + FLAG_PX)
  }

  /** Draws below each cart who has it. */
  #drawPlayers(context: CanvasRenderingContext2D, bitmaps: CartBitmaps, markers: Markers, frame: CartFrame): void {
    for (const { cart, isShown, px, py } of markers.all) {
      const name = isShown ? partyNameOf(cart) : null
      if (name === null) continue
      this.#blit(context, bitmaps.label(name, { isBoxed: true, isDark: frame.isDark }), px, py + SIGN_PX + NAME_PX)
    }
  }

  /** Draws the names of places, next to carts that would hide them; those without room are left out. */
  #drawNames(context: CanvasRenderingContext2D, bitmaps: CartBitmaps, markers: Markers, frame: CartFrame): void {
    const { screen, names, words, isDark } = frame
    const [a, b, c, d, e, f] = screen.transform
    const taken: Box[] = [
      ...markers.all.filter(({ isShown }) => isShown).map(({ px, py }) => boxAt(px, py, SIGN_PX, SIGN_PX)),
      ...[...markers.pills]
        .filter(({ isShown }) => isShown)
        .map((pill) => boxAt(pill.px, pill.py, pill.halfWidthPx, SIGN_PX)),
    ]
    for (const { kind, text, x, y } of names) {
      const isBoxed = kind === 'hole'
      const bitmap = bitmaps.label(text ?? words.places[kind === 'range' ? kind : 'clubhouse'], { isBoxed, isDark })
      const { halfWidthPx } = bitmap
      const [px, py] = [a * x + c * y + e, b * x + d * y + f]
      for (const [right, down] of AROUND) {
        const spot = boxAt(px + right * (halfWidthPx + SIGN_PX), py + down * (NAME_PX + SIGN_PX), halfWidthPx, NAME_PX)
        if (taken.some((one) => areOver(one, spot))) continue
        taken.push(spot)
        this.#blit(context, bitmap, (spot.left + spot.right) / 2, (spot.top + spot.bottom) / 2)
        break
      }
    }
  }

  #drawPills(
    context: CanvasRenderingContext2D,
    bitmaps: CartBitmaps,
    pills: Iterable<ParkingCluster>,
    words: ClusterTexts,
  ): void {
    for (const pill of pills) {
      if (!pill.isShown) continue
      const bitmap = bitmaps.pill([
        { text: `P ${pill.count}`, tone: 'plain' },
        ...(pill.open === 0 ? [] : [{ text: words.open(pill.open), tone: 'warning' } as const]),
        ...(pill.low === 0 ? [] : [{ text: words.low(pill.low), tone: 'warning' } as const]),
      ])
      pill.halfWidthPx = bitmap.halfWidthPx
      this.#blit(context, bitmap, pill.px, pill.py)
    }
  }

  /** Copies onto whole screen pixels, which is sharper and faster. */
  #blit(
    context: CanvasRenderingContext2D,
    { canvas, halfWidthPx, halfHeightPx }: Bitmap,
    px: number,
    py: number,
  ): void {
    const ratio = this.#ratio
    context.drawImage(canvas, Math.round((px - halfWidthPx) * ratio), Math.round((py - halfHeightPx) * ratio))
  }
}

function boxAt(px: number, py: number, halfWidthPx: number, halfHeightPx: number): Box {
  return { left: px - halfWidthPx, top: py - halfHeightPx, right: px + halfWidthPx, bottom: py + halfHeightPx }
}

function areOver(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
}

function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
  if (canvas.width !== width) canvas.width = width
  if (canvas.height !== height) canvas.height = height
}
