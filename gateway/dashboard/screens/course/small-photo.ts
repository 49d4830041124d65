import { readPhoto } from '#shared/photo/photo.ts'
import { PhotoFault } from '#shared/photo/photo-fault.ts'

/** Photo as it is sent: upright, and no larger than a tablet can draw. */
export interface SmallPhoto {
  image: ImageBitmap
  blob: Blob
}

export type PhotoProblem = 'notPhoto' | 'tooLarge'

const SIDE_PX = 4096
const BLOB_BYTES = 8 * 1_048_576
const QUALITIES = [0.85, 0.7, 0.5]

/** Reduces the photo of a file. A camera's picture comes out upright, because the browser rotates it while decoding. */
export async function smallPhoto(file: Blob): Promise<SmallPhoto | PhotoProblem> {
  try {
    // checks the size in the header before a browser runs out of memory on the image
    readPhoto(new Uint8Array(await file.arrayBuffer()))
    const whole = await createImageBitmap(file)
    const canvas = smaller(whole)
    whole.close()
    for (const quality of QUALITIES) {
      const blob = await jpegOf(canvas, quality)
      if (blob !== null && blob.size <= BLOB_BYTES) return { image: await createImageBitmap(canvas), blob }
    }
    return 'tooLarge'
  } catch (error) {
    return error instanceof PhotoFault && error.isTooLarge ? 'tooLarge' : 'notPhoto'
  }
}

function smaller(image: ImageBitmap): HTMLCanvasElement {
  const share = Math.min(1, SIDE_PX / Math.max(image.width, image.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(image.width * share))
  canvas.height = Math.max(1, Math.round(image.height * share))
  const context = canvas.getContext('2d')
  if (context !== null) {
    context.imageSmoothingQuality = 'high'
    context.drawImage(image, 0, 0, canvas.width, canvas.height)
  }
  return canvas
}

function jpegOf(canvas: HTMLCanvasElement, quality: number): Promise<Blob | null> {
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality))
}
