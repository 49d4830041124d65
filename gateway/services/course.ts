import { promisify } from 'node:util'
import { gunzipSync, gzip } from 'node:zlib'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { type CourseCounts, type CourseFeature, countsOf } from '#shared/course/course.ts'
import { ConflictError, describeError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { type Corners, storedCorners } from '#shared/photo/upright.ts'
import type { Clock } from '#shared/time.ts'
import type { SiteZone } from '#shared/zones/zone.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import { type CoursePhoto, contentHash } from '#store/tables/course.ts'

interface CourseDeps {
  store: Pick<Store, 'read' | 'readers' | 'write'>
  events: Events
  clock: Clock
  log: Log
}

/** Course map and the photo below it. */
export interface DrawnCourse {
  /** Grows with every change of either; 0 while there never was one. */
  version: number
  attribution: string | null
  featuresJson: string
  counts: CourseCounts
  photo: CoursePhoto | null
}

/** Limit above any real course; larger packed data was not written by this program. */
const FEATURES_BYTES = 16 * 1024 * 1024
/** Limit of the time; a real course takes a tenth of a second. */
const MOST_MS = 10_000
const NOTHING = { attribution: null, featuresJson: '[]', counts: countsOf([]) }

const pack = promisify(gzip)

/** Course map in memory, and its photo on the disk. */
export class CourseDrawing {
  readonly #deps: CourseDeps
  readonly #turns = new SerialQueue()
  #current: DrawnCourse = { version: 0, ...NOTHING, photo: null }

  constructor(deps: CourseDeps) {
    this.#deps = deps
  }

  load(): void {
    const { store, log } = this.#deps
    const row = store.read.courseRow()
    const photo = store.read.coursePhoto()
    if (row === null) return
    try {
      const featuresJson = unpack(row.packedFeatures)
      const counts = countsOf(featuresIn(featuresJson))
      this.#current = { version: row.version, attribution: row.attribution, featuresJson, counts, photo }
    } catch (error) {
      // carts drive without a course map, too
      log.error({ reason: describeError(error) }, 'cannot read the course map; upload it again')
      this.#current = { version: row.version, ...NOTHING, photo }
    }
  }

  /** Current course map; the same object until the next change. */
  get current(): DrawnCourse {
    return this.#current
  }

  /** Parses a course map from JSON and replaces the current one. Throws `invalid_course`. */
  async replace(bytes: Uint8Array, asker: JobOptions): Promise<DrawnCourse> {
    const read = await this.#deps.store.readers.run('readDrawing', { bytes }, { ...asker, mostMs: MOST_MS })
    if (read.kind === 'refused') {
      const { fault: code, message } = read
      const error = { in: 'body' as const, name: 'features', code, detail: message }
      throw new InvalidRequestError('invalid_course', message, [error])
    }
    const { attribution, featuresJson, counts } = read
    return await this.#change({ attribution, featuresJson, counts })
  }

  /** Derives zones from the map, with names in a language. Throws `no_course`, and `too_complex` after too long. */
  proposeZones(language: 'en' | 'de', asker: JobOptions): Promise<SiteZone[]> {
    const { featuresJson } = this.#current
    if (featuresJson === NOTHING.featuresJson)
      throw new ConflictError('no_course', 'there is no course map; PUT /course first')
    const options = { ...asker, mostMs: MOST_MS }
    return this.#deps.store.readers.run('proposeDrawnZones', { featuresJson, language }, options)
  }

  remove(): Promise<DrawnCourse> {
    return this.#change(NOTHING)
  }

  /** Stores a photo from the bytes of its file; `corners` are those of its visible area. Throws `invalid_image`. */
  async placePhoto(file: Uint8Array, corners: Corners, asker: JobOptions): Promise<DrawnCourse> {
    const options = { ...asker, mostMs: MOST_MS }
    const photo = await this.#deps.store.readers.run('readImage', { bytes: file }, options)
    const { type, bytes, orientation } = photo
    const placed: CoursePhoto = {
      contentType: type,
      hash: contentHash(bytes),
      bytes: bytes.length,
      corners: storedCorners(corners, orientation),
    }
    return await this.#changePhoto(placed, bytes)
  }

  removePhoto(): Promise<DrawnCourse> {
    return this.#changePhoto(null, null)
  }

  /** Returns the image of the photo. Throws `photo_not_found`. */
  async image(owner: string, signal: AbortSignal): Promise<{ photo: CoursePhoto; image: Uint8Array<ArrayBuffer> }> {
    const { photo } = this.#current
    const image =
      photo === null
        ? null
        : await this.#deps.store.readers.run(
            'courseImage',
            { hash: photo.hash, bytes: photo.bytes },
            { owner, signal, isShort: true },
          )
    if (photo === null || image === null) throw new NotFoundError('photo_not_found', 'there is no photo of the course')
    return { photo, image }
  }

  #change(drawing: Omit<DrawnCourse, 'version' | 'photo'>): Promise<DrawnCourse> {
    return this.#turns.take(async () => {
      const { photo, version } = this.#current
      const course: DrawnCourse = { ...drawing, version: version + 1, photo }
      await this.#deps.store.write('saveCourse', await this.#rowOf(course), () => this.#set(course))
      return course
    })
  }

  #changePhoto(photo: CoursePhoto | null, image: Uint8Array | null): Promise<DrawnCourse> {
    return this.#turns.take(async () => {
      const course: DrawnCourse = { ...this.#current, version: this.#current.version + 1, photo }
      const row = photo === null || image === null ? null : { ...photo, image }
      const input = { photo: row, course: await this.#rowOf(course) }
      await this.#deps.store.write('saveCoursePhoto', input, () => this.#set(course))
      return course
    })
  }

  async #rowOf({ version, attribution, featuresJson, counts }: DrawnCourse) {
    const packedFeatures = (await pack(featuresJson)).toString('base64')
    return { version, attribution, packedFeatures, counts, nowMs: this.#deps.clock.nowMs() }
  }

  #set(course: DrawnCourse): void {
    this.#current = course
    this.#deps.events.emit('courseChanged', { version: course.version })
  }
}

function unpack(packed: string): string {
  return gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: FEATURES_BYTES }).toString()
}

function featuresIn(json: string): CourseFeature[] {
  // written only by this program
  return JSON.parse(json)
}
