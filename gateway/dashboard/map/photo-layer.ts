import ImageLayer from 'ol/layer/Image.js'
import ImageCanvasSource from 'ol/source/ImageCanvas.js'
import type { Affine } from './placing.ts'

/** Image, and the transformation of its pixels onto the map's plane. */
export interface PlacedPhoto {
  image: ImageBitmap
  affine: Affine
  opacity: number
}

/** Photo of the course, below everything else. */
export class PhotoLayer {
  readonly layer = new ImageLayer<ImageCanvasSource>({ zIndex: -2 })

  show(photo: PlacedPhoto | null): void {
    this.layer.setSource(photo === null ? null : sourceOf(photo))
    this.layer.setOpacity(photo?.opacity ?? 1)
  }
}

function sourceOf({ image, affine: [a, b, c, d, e, f] }: PlacedPhoto): ImageCanvasSource {
  return new ImageCanvasSource({
    canvasFunction: ([west = 0, , , north = 0], resolution, pixelRatio, [width = 1, height = 1]) => {
      const canvas = document.createElement('canvas')
      canvas.width = Math.ceil(width)
      canvas.height = Math.ceil(height)
      const context = canvas.getContext('2d')
      const scale = pixelRatio / resolution
      context?.setTransform(scale * a, -scale * b, scale * c, -scale * d, scale * (e - west), scale * (north - f))
      context?.drawImage(image, 0, 0)
      return canvas
    },
    ratio: 1.5,
  })
}
