import { effect, type ReadonlySignal, signal } from '@preact/signals-core'
import type { Dashboard } from '#dashboard/live/dashboard.ts'
import type { CourseFeature } from '#shared/course/course.ts'
import { positionsOf } from '#shared/course/shapes.ts'
import type { CourseJson, CoursePhotoJson } from '#shared/wire/course.ts'
import { applied, fitAffine } from './affine.ts'
import { CourseLayer, namesOfCourse } from './course-layer.ts'
import type { CourseMap } from './course-map.ts'
import type { MapExtent } from './first-view.ts'
import { toX, toY } from './mercator.ts'
import { PhotoLayer, type PlacedPhoto } from './photo-layer.ts'
import type { Affine } from './placing.ts'

/** Parts to show in place of the gateway's; an omitted part is the gateway's. */
export interface ShownCourse {
  features?: readonly CourseFeature[]
  photo?: PlacedPhoto | null
}

const AGAIN_MS = 5_000

/**
 * Course map and photo, below everything else on a map. Loaded once the map exists, and read again after a change or a
 * reconnection; a failed read leaves it out.
 */
export class CourseBaseMap {
  readonly #dashboard: Pick<Dashboard, 'api' | 'listen'>
  readonly #map: CourseMap
  readonly #drawing = new CourseLayer()
  readonly #photo = new PhotoLayer()
  readonly #course = signal<CourseJson | null>(null)
  readonly #image = signal<PlacedPhoto | null>(null)
  readonly #shown = signal<ShownCourse>({})
  readonly #darkness = matchMedia('(prefers-color-scheme: dark)')
  readonly #stops: (() => void)[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #reads = 0
  #imageTag: string | null = null

  constructor(dashboard: Pick<Dashboard, 'api' | 'listen'>, map: CourseMap) {
    this.#dashboard = dashboard
    this.#map = map
  }

  /** Course of the gateway; null until it was read. */
  get course(): ReadonlySignal<CourseJson | null> {
    return this.#course
  }

  set shown(shown: ShownCourse) {
    this.#shown.value = shown
  }

  start(): void {
    this.#map.addBaseLayers([this.#photo.layer, this.#drawing.layer])
    const paint = () => {
      this.#drawing.isDark = this.#darkness.matches
    }
    paint()
    this.#darkness.addEventListener('change', paint)
    this.#stops.push(
      () => this.#darkness.removeEventListener('change', paint),
      this.#dashboard.listen(({ type }) => {
        if (type === 'course_changed' || type === 'snapshot') void this.#read()
      }),
      effect(() => this.#draw()),
    )
    void this.#read()
  }

  stop(): void {
    this.#reads += 1
    clearTimeout(this.#timer)
    for (const stop of this.#stops.splice(0)) stop()
    this.#image.peek()?.image.close()
  }

  #draw(): void {
    const shown = this.#shown.value
    const features = shown.features ?? this.#course.value?.features ?? []
    const photo = shown.photo === undefined ? this.#image.value : shown.photo
    this.#drawing.show(features)
    this.#photo.show(photo)
    const extent = extentOf(features) ?? (photo === null ? null : extentOfPhoto(photo))
    this.#map.baseMap = extent === null ? null : { extent, names: namesOfCourse(features) }
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer)
    this.#reads += 1
    const read = this.#reads
    try {
      const { api } = this.#dashboard
      const course = await api.call('GET /course')
      if (read !== this.#reads) return
      if (course.version !== this.#course.peek()?.version) this.#course.value = course
      const { photo } = course
      if ((photo?.etag ?? null) === this.#imageTag) return
      const image = photo === null ? null : await this.#load(photo)
      if (read !== this.#reads) return image?.image.close()
      this.#image.peek()?.image.close()
      this.#imageTag = photo?.etag ?? null
      this.#image.value = image
    } catch {
      // zones and carts are shown without it
      if (read === this.#reads) this.#timer = setTimeout(() => void this.#read(), AGAIN_MS)
    }
  }

  async #load({ corners }: CoursePhotoJson): Promise<PlacedPhoto | null> {
    const blob = await (await this.#dashboard.api.download('GET /course/photo')).blob()
    const image = await createImageBitmap(blob)
    const affine = affineOf(corners, image)
    return affine === null ? null : { image, affine, opacity: 1 }
  }
}

/** Returns the transformation of an image onto the map, given the positions of its corners. */
export function affineOf(
  corners: CoursePhotoJson['corners'],
  { width, height }: { width: number; height: number },
): Affine | null {
  const ends = [
    [0, 0],
    [width, 0],
    [width, height],
    [0, height],
  ] as const
  return fitAffine(
    ends.flatMap((from, i) => {
      const corner = corners[i]
      return corner === undefined ? [] : [{ from, to: [toX(corner.long), toY(corner.lat)] as const }]
    }),
  )
}

function extentOfPhoto({ image, affine }: PlacedPhoto): MapExtent | null {
  const { width, height } = image
  return extentAround([
    applied(affine, 0, 0),
    applied(affine, width, 0),
    applied(affine, width, height),
    applied(affine, 0, height),
  ])
}

/** Extent of the playing areas, without the paths and buildings around them. */
function extentOf(features: readonly CourseFeature[]): MapExtent | null {
  const ofGolf = features.filter(({ properties }) => properties.golf !== undefined || properties.leisure !== undefined)
  const places = (ofGolf.length > 0 ? ofGolf : features).flatMap(positionsOf)
  return extentAround(places.map(([long, lat]) => [toX(long), toY(lat)]))
}

function extentAround(places: readonly (readonly [number, number])[]): MapExtent | null {
  if (places.length === 0) return null
  const extent: MapExtent = [
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ]
  for (const [x, y] of places) {
    extent[0] = Math.min(extent[0], x)
    extent[1] = Math.min(extent[1], y)
    extent[2] = Math.max(extent[2], x)
    extent[3] = Math.max(extent[3], y)
  }
  return extent
}
