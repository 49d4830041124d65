import { useEffect, useRef, useState } from 'preact/hooks'
import type { Pair } from '#dashboard/map/affine.ts'
import { courseTexts } from '#dashboard/texts/course.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { CartPlaces } from '../barn/cart-places.tsx'

interface PhotoPointsProps {
  image: ImageBitmap
  pairs: readonly Pair[]
  touched: readonly [x: number, y: number] | null
  onPairs: (pairs: readonly Pair[]) => void
}

/** Longest side of the photo as drawn in the panel. */
const DRAWN_PX = 1600
const CROSS_PX = 26

/** Spots on the photo, each with the same spot on the map: tapped there, or the position of a cart. */
export function PhotoPoints({ image, pairs, touched, onPairs }: PhotoPointsProps) {
  const texts = courseTexts()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [spot, setSpot] = useState<readonly [x: number, y: number] | null>(null)
  const [isClose, setClose] = useState(false)
  const number = pairs.length + 1
  const pair = (to: readonly [number, number]) => {
    if (spot === null) return
    onPairs([...pairs, { from: spot, to }])
    setSpot(null)
  }
  useEffect(() => {
    // ignores taps made before
    if (touched !== null) pair(touched)
  }, [touched])
  useEffect(() => {
    if (canvas.current !== null)
      draw(canvas.current, image, [...pairs.map(({ from }) => from), ...(spot === null ? [] : [spot])])
  }, [image, pairs, spot])
  return (
    <>
      <p>{spot === null ? texts.onPhoto(number) : texts.onMap(number)}</p>
      <div class={isClose ? 'photo-box close' : 'photo-box'}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={texts.imageOf}
          onClick={({ offsetX, offsetY, currentTarget }) =>
            setSpot([
              (offsetX / currentTarget.clientWidth) * image.width,
              (offsetY / currentTarget.clientHeight) * image.height,
            ])
          }
        />
      </div>
      <Button text={isClose ? texts.further : texts.closer} onClick={() => setClose(!isClose)} />
      {spot !== null && <CartPlaces label={texts.orCart} onPlace={pair} />}
      {pairs.length > 0 && (
        <ul class="stack photo-pairs">
          {pairs.map((known, i) => (
            <li key={`${known.from} ${known.to}`}>
              <span>{texts.point(i + 1)}</span>
              <button
                type="button"
                class="button"
                aria-label={texts.removePoint(i + 1)}
                onClick={() => onPairs(pairs.filter((other) => other !== known))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function draw(canvas: HTMLCanvasElement, image: ImageBitmap, spots: readonly (readonly [number, number])[]): void {
  const share = Math.min(1, DRAWN_PX / Math.max(image.width, image.height))
  canvas.width = Math.max(1, Math.round(image.width * share))
  canvas.height = Math.max(1, Math.round(image.height * share))
  const context = canvas.getContext('2d')
  if (context === null) return
  context.drawImage(image, 0, 0, canvas.width, canvas.height)
  for (const [width, color] of [
    [9, '#ffffff'],
    [4, '#b3002d'],
  ] as const) {
    context.lineWidth = width
    context.strokeStyle = color
    for (const [x, y] of spots) {
      const [px, py] = [x * share, y * share]
      context.beginPath()
      context.moveTo(px - CROSS_PX, py)
      context.lineTo(px + CROSS_PX, py)
      context.moveTo(px, py - CROSS_PX)
      context.lineTo(px, py + CROSS_PX)
      context.stroke()
    }
  }
}
